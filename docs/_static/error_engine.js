// Finds the cause of an error in a pasted text: `torchguide explain` for the browser. The modules
// of src/torchguide/errors tell why each step is as it is, and their functions have the same names
// here; tests/browser/test_error_decoder.py demands the same answers of both.
//
// It is one function that uses nothing around it, since a worker is made of its text. It takes the
// data that docs/_ext/error_catalogue.py writes, and returns the function that explains
// a text.
globalThis.guideErrorEngine = (catalogue) => {
  const MOST = 2000;
  const REACH = 2500;
  const BEGINNING = 200_000; // characters of a long text that are read, and of its end
  const END = 800_000;
  const LEVELS = { error: 0, warning: 1, fallback: 2 };

  // -- log_text.py: \d, \w and \s as Python understands them; the last two for use in brackets

  const d = String.raw`\p{Nd}`;
  const w = String.raw`\p{L}\p{N}_`;
  const s = String.raw`\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;
  const ANSI = new RegExp(
    [
      String.raw`\x1b\[[0-?]*[ -\/]*[@-~]`,
      String.raw`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`,
      String.raw`\x1b[@-_]`,
      String.raw`(?:\ufffd|␛)?\[${d}{1,2}(?:;${d}{1,3}){0,4}m`,
    ].join("|"),
    "gu",
  );
  const PREFIXES = [
    String.raw`#${d}+ ${d}+\.${d}+ `,
    String.raw`[${w}.\/\-]+ *\| (?=[^])`,
    String.raw`\[(?:rank|default)${d}+\]:`,
    String.raw`\[${d}+\]: *|${d}+: (?=[^${s}])`,
    String.raw`\([${w} ]*pid=[^)]*\)`,
    String.raw`\[?${d}{4}[\-\/]${d}${d}[\-\/]${d}${d}[T ,]${d}${d}:${d}${d}:${d}${d}[${d}.,+Z]*\]?`,
    String.raw`\[?${d}${d}:${d}${d}:${d}${d}[${d}.,]*\]?`,
    String.raw`\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?[:|]?(?=[${s}])`,
    String.raw`\[?[EWIF]${d}{4} ${d}${d}:${d}${d}:${d}${d}[^${s}]*(?: ${d}+)? [^${s}]+` +
      String.raw`\.(?:py|cpp|cc|h):${d}+\](?: \[[${d}\/]+\])*`,
    String.raw`[\-|:](?=[${s}])`,
  ];
  const PREFIX = new RegExp(`^(?:[${s}>]*(?:${PREFIXES.join("|")}))+`, "u");
  const BOX = /[\u2500-\u257f❱]+/g;
  const CONTROL = /[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]/g;
  const SPACES = new RegExp(`[${s}]+`, "gu");
  const FULL_WIDTH = /[\uff01-\uff5e]/g;
  const ONE_LINE = /(?:\\{1,2}r)?\\{1,2}n/;
  const QUOTES = /["`“”‘’´「」]/g;

  const clean = (raw) => {
    let line = raw.replace(ANSI, "");
    if (/[^\x00-\x7f]/.test(line)) {
      const half = (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0);
      line = line.replace(FULL_WIDTH, half).replace(BOX, " ");
    }
    line = line.replace(CONTROL, " ").replace(PREFIX, "");
    return line.replace(SPACES, " ").trim().replace(QUOTES, "'");
  };

  const readLines = (lines, joint) => {
    const parts = [];
    const starts = [];
    const numbers = [];
    let offset = 0;
    for (const [number, line] of lines) {
      const pieces = line.split(line.split("\\n").length > 3 ? ONE_LINE : "\r");
      for (const piece of pieces) {
        const text = clean(
          piece.replaceAll("\\'", "'").replaceAll('\\"', '"').replaceAll("\\\\", "\\"),
        );
        if (!text) continue;
        parts.push(text);
        starts.push(offset);
        numbers.push(number);
        offset += text.length + joint.length;
      }
    }
    return { flow: parts.join(joint), parts, starts, numbers };
  };

  const lineAt = (log, offset) => {
    const after = log.starts.findIndex((start) => start > offset);
    return (after < 0 ? log.starts.length : after) - 1;
  };

  // -- deciding.py

  const EXCEPTION =
    /(?:^|[\s:|>(\u3000-\u9fff])(?<name>(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Timeout)\w{0,80})(?<rest>:(?= |$).*|$)/;
  const DOTTED = /^(?<name>(?:[a-z_]\w*\.){1,8}[A-Z]\w*(?<!Warning))(?<rest>:(?= |$).*)/;
  const RELAYED = new RegExp(
    `^:? (?:Caught [${w}]+ in |Error running command|Command .{0,200} returned non-zero` +
      String.raw`|Error\(s\) in loading (?!state_dict))`,
    "u",
  );
  const IGNORED = /Exception ignored in|exit_code|^traceback :/;

  const decidingException = (log) => {
    let ignoredUntil = -1;
    let last = null;
    log.parts.forEach((piece, index) => {
      if (IGNORED.test(piece)) ignoredUntil = index + 12;
      const match = DOTTED.exec(piece) ?? EXCEPTION.exec(piece);
      if (!match) return;
      if (index <= ignoredUntil) {
        ignoredUntil = -1;
        return;
      }
      const { name, rest } = match.groups;
      const bare = name.slice(name.lastIndexOf(".") + 1);
      if (catalogue.wrappers.some((each) => bare.startsWith(each)) || RELAYED.test(rest)) return;
      last = log.starts[index] + match.index + match[0].length - rest.length - name.length;
    });
    return last;
  };

  // -- facts.py: whole numbers are BigInt, as Python's have no limit; other numbers are Number

  const UNITS = { bytes: 2 ** -20, K: 2 ** -10, M: 1, G: 2 ** 10, T: 2 ** 20 };
  const isNumber = (value) => typeof value === "number" || typeof value === "bigint";
  const whole = (value) => (Number.isInteger(value) ? BigInt(value) : value);

  const floorDivision = (a, b) => {
    const rest = a % b;
    const off = rest && rest < 0 !== b < 0;
    if (typeof a === "bigint") return [a / b - (off ? 1n : 0n), rest + (off ? b : 0n)];
    const positive = rest + (off ? b : 0);
    const exact = (a - positive) / b;
    return [Math.floor(exact) + (exact - Math.floor(exact) > 0.5 ? 1 : 0), positive];
  };
  const ARITHMETIC = {
    add: (a, b) => a + b,
    sub: (a, b) => a - b,
    mul: (a, b) => a * b,
    div: (a, b) => (b ? floorDivision(a, b)[0] : 0n),
    mod: (a, b) => (b ? floorDivision(a, b)[1] : 0n),
  };
  const SHAPES = {
    first: (shape) => shape[0] ?? 0n,
    last: (shape) => shape.at(-1) ?? 0n,
    rank: (shape) => BigInt(shape.length),
  };
  const calculate = (operation, numbers) => {
    if (operation === "cuda") return `${numbers[0] / 1000n}.${(numbers[0] % 1000n) / 10n}`;
    if (operation in SHAPES) {
      return SHAPES[operation]((String(numbers[0]).match(/\d+/g) ?? []).map(BigInt));
    }
    const same = numbers.every((n) => typeof n === "bigint");
    return ARITHMETIC[operation](...(same ? numbers : numbers.map(Number)));
  };
  // exact halves go to the even digit in Python
  const twoDigits = (value) => {
    if (Math.abs(value) >= 1e21) return `${BigInt(value)}.00`;
    if (!Number.isInteger(value * 8) || Number.isInteger(value * 4)) return value.toFixed(2);
    const low = Math.floor(value * 100);
    return ((low % 2 ? low + 1 : low) / 100).toFixed(2);
  };
  const sameValue = (a, b) => a === b || (isNumber(a) && isNumber(b) && a == b);
  const ordered = (compare) => (a, b) =>
    (isNumber(a) ? isNumber(b) : typeof a === typeof b) && compare(a, b);
  const CONDITIONS = {
    "==": sameValue,
    "!=": (a, b) => !sameValue(a, b),
    "<": ordered((a, b) => a < b),
    "<=": ordered((a, b) => a <= b),
    ">": ordered((a, b) => a > b),
    ">=": ordered((a, b) => a >= b),
    in: (value, choices) => choices.some((each) => sameValue(value, each)),
    "not in": (value, choices) => !choices.some((each) => sameValue(value, each)),
  };

  class Facts {
    constructor(captured, kinds) {
      this.values = new Map();
      this.sizes = new Set();
      this.shownAs = new Map();
      Object.entries(captured ?? {}).forEach(([name, raw], index) => {
        if (raw === undefined) return;
        const text = raw.trim();
        const kind = kinds[index];
        let value = text;
        if (kind === "i" || kind === "n") {
          value = text.includes(".") ? Number(text) : BigInt(text);
        }
        if (kind === "s") {
          this.sizes.add(name);
          const unit = text.endsWith("bytes") ? "bytes" : text.replace(/[\d. ]/g, "")[0];
          value = Number(/^[\d.]+/.exec(text)?.[0] ?? 0) * UNITS[unit];
        }
        this.values.set(name, value);
        this.shownAs.set(name, text);
      });
    }

    derive(rules) {
      for (const [name, [operation, ...operands]] of Object.entries(rules)) {
        if (operation === "lookup") {
          const table = catalogue.tables[operands[0]];
          const key = this.shownAs.get(operands[1]);
          if (Object.hasOwn(table, key)) {
            const row = table[key];
            this.values.set(name, row);
            this.shownAs.set(name, row);
          }
          continue;
        }
        const named = operands.filter((operand) => typeof operand === "string");
        if (named.some((operand) => !this.values.has(operand))) continue;
        const numbers = operands.map((o) => (named.includes(o) ? this.values.get(o) : whole(o)));
        if (!(operation in SHAPES) && !numbers.every(isNumber)) continue;
        const value = calculate(operation, numbers);
        this.values.set(name, value);
        if (named.some((operand) => this.sizes.has(operand))) {
          this.sizes.add(name);
          this.shownAs.set(name, `${twoDigits(Number(value) / 1024)} GiB`);
        } else {
          const float = typeof value === "number" && Number.isInteger(value);
          this.shownAs.set(name, float ? value.toFixed(1) : String(value));
        }
      }
    }

    holds([name, comparison, other]) {
      if (!this.values.has(name)) return false;
      const named = typeof other === "object" && !Array.isArray(other);
      if (named && !this.values.has(other.fact)) return false;
      return CONDITIONS[comparison](
        this.values.get(name),
        named ? this.values.get(other.fact) : other,
      );
    }

    fill(text) {
      let missing = false;
      const filled = text.replace(/\{([a-z][a-z0-9_]*)\}/g, (_all, name) => {
        missing ||= !this.shownAs.has(name);
        return this.shownAs.get(name) ?? "";
      });
      return missing ? null : filled;
    }

    shown() {
      const known = [...this.values];
      return Object.fromEntries(
        known.map(([name, value]) => [
          name,
          typeof value === "bigint" ? value : this.shownAs.get(name),
        ]),
      );
    }
  }

  // -- catalogue.py

  const known = new Map();
  const compiled = (source) => {
    if (!known.has(source)) known.set(source, new RegExp(source, "gu"));
    return known.get(source);
  };
  const entries = catalogue.entries.map((entry) => ({
    ...entry,
    patterns: entry.patterns.map(
      // the order and the defaults are those of error_catalogue.py
      ([match, words, rank, kinds = "", confidence = 0, level = 0, ...rare]) => {
        const [within = "", without = "", requires = 0, consequence = false] = rare;
        return {
          match,
          words: words.split(" "),
          rank,
          kinds,
          confidence,
          level,
          within,
          without,
          requires: catalogue.requires[requires],
          consequence,
        };
      },
    ),
  }));

  // -- explain.py

  const factsOf = (pattern, entry, match) => {
    const facts = new Facts(match.groups, pattern.kinds);
    facts.derive(entry.derive ?? {});
    return facts;
  };
  const counts = (pattern, text) =>
    pattern.words.every((word) => text.includes(word)) &&
    !(pattern.within && text.search(compiled(pattern.within)) < 0) &&
    !(pattern.without && text.search(compiled(pattern.without)) >= 0);

  const hitsOf = (log) => {
    const hits = [];
    for (const entry of entries) {
      for (const pattern of entry.patterns) {
        if (!counts(pattern, log.flow)) continue;
        const found = [];
        let seen = 0;
        for (const match of log.flow.matchAll(compiled(pattern.match))) {
          if ((seen += 1) > MOST) break;
          const facts = pattern.requires.length && factsOf(pattern, entry, match);
          if (pattern.requires.every((condition) => facts.holds(condition))) found.push(match);
        }
        for (const match of found.length > 1 ? [found[0], found.at(-1)] : found) {
          const start = match.index;
          hits.push({ entry, pattern, match, start, end: start + match[0].length });
        }
      }
    }
    return hits;
  };

  const order = (a, b) => {
    const place = ({ pattern, start }) => (pattern.consequence ? start : -start);
    return b.pattern.rank - a.pattern.rank || place(a) - place(b);
  };

  const rank = (hits, log) => {
    const exception = decidingException(log);
    const errors = hits.filter((hit) => hit.pattern.level === LEVELS.error);
    const warnings = hits.filter((hit) => hit.pattern.level === LEVELS.warning);
    let deciding = errors.filter((hit) => hit.end >= (exception ?? 0));
    if (deciding.every((hit) => hit.pattern.consequence) && deciding.length) deciding = errors;
    const inReach = ({ start }) =>
      exception === null ||
      (start >= exception - 1 &&
        start <= exception + 2 * REACH &&
        [...log.flow.slice(exception, start)].length <= REACH);
    const fallbacks = hits.filter((hit) => hit.pattern.level === LEVELS.fallback && inReach(hit));
    const groups = [[deciding, true]];
    if (deciding.length || exception === null) {
      groups.push([errors, false], [warnings, false]);
      if (!deciding.length) groups.push([fallbacks, true]);
    } else {
      groups.push([fallbacks, true], [errors, false]);
    }
    const ranked = new Map();
    for (const [group, decides] of groups) {
      for (const hit of [...group].sort(order)) {
        const { id } = hit.entry;
        if (!ranked.has(id)) ranked.set(id, { hit, sure: decides || exception === null });
      }
    }
    return [...ranked.values()];
  };

  const fits = (entryCase, facts) =>
    (entryCase.when ?? []).every((condition) => facts.holds(condition)) &&
    [entryCase.title, entryCase.cause, entryCase.fix].every(
      (text) => text === undefined || facts.fill(text) !== null,
    );

  // the lines of the message, as they were read; of a long line what stands around it
  const quote = (log, index, hit) => {
    const lines = log.parts.slice(index, lineAt(log, hit.end - 1) + 1).join("\n");
    const before = Math.max(hit.start - log.starts[index] - 80, 0);
    const part = lines.slice(before, before + 400);
    return `${before ? "…" : ""}${part}${before + part.length < lines.length ? "…" : ""}`;
  };

  const answer = ({ hit, sure }, log) => {
    const { entry, pattern, match } = hit;
    const facts = factsOf(pattern, entry, match);
    const chosen = (entry.cases ?? []).find((each) => fits(each, facts)) ?? {};
    const text = (name) => {
      const template = chosen[name] || entry[name];
      return facts.fill(template) || template;
    };
    const code = chosen.code ?? (chosen.fix === undefined ? (entry.code ?? []) : []);
    const confidence = chosen.confidence ?? pattern.confidence;
    const index = lineAt(log, hit.start);
    return {
      id: entry.id,
      confidence: !sure && confidence === 0 ? 1 : confidence,
      line: log.numbers[index],
      message: quote(log, index, hit),
      title: text("title"),
      cause: text("cause"),
      causes: chosen.cause === undefined ? (entry.causes ?? []) : [],
      fix: text("fix"),
      code: code.map((line) => facts.fill(line) || line),
      page: entry.page,
      facts: facts.shown(),
    };
  };

  // -- What is read of a long text: the beginning and the end, as lines with their numbers

  const numbered = (text, first) => text.split("\n").map((line, index) => [first + index, line]);
  const excerpt = (text) => {
    if (text.length <= BEGINNING + END) return { lines: numbered(text, 1), left: null };
    const head = text.slice(0, BEGINNING);
    const tail = text.slice(-END);
    // a line that is cut is left out, unless there is nothing else
    const beginning = numbered(head.includes("\n") ? head.slice(0, head.lastIndexOf("\n")) : head, 1);
    const whole = tail.slice(tail.indexOf("\n") + 1);
    const before = text.slice(0, text.length - whole.length).split("\n").length;
    const end = numbered(whole, before);
    const left = { to: beginning.length, from: before, last: end.at(-1)[0] };
    return { lines: [...beginning, ...end], left };
  };

  // Returns the matches, best first, and which lines of a long text were left out.
  return (text) => {
    const { lines, left } = excerpt(text);
    for (const joint of [" ", ""]) {
      const log = readLines(lines, joint);
      const ranked = rank(hitsOf(log), log);
      if (ranked.length) return { matches: ranked.map((each) => answer(each, log)), left };
    }
    return { matches: [], left };
  };
};
