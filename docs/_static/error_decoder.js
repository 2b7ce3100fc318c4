// Shows what the text in the box means. The search runs in a worker, so that no text can hold up
// the page, and nothing leaves the browser: no request is made, nothing is stored. Pasted text
// only ever becomes text.
for (const form of document.querySelectorAll(".error-decoder form")) {
  const PAUSE = 300; // ms without typing before the search begins
  const PATIENCE = 15_000; // ms after which a search is given up
  const MOST = 10; // answers that are shown
  const SHOWN = 100_000; // characters that a box lays out at once
  const SURE = ["certain", "likely", "possible"];
  const { words, ...catalogue } = globalThis.guideErrors;
  const find = (name) => form.querySelector(`.decoder-${name}`);
  const [box, status, answers, cut] = ["text", "status", "answers", "cut"].map(find);

  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);
  const make = (tag, name, ...parts) => {
    const element = document.createElement(tag);
    if (name) element.className = `decoder-${name}`;
    element.append(...parts);
    return element;
  };

  // -- Answers

  const copy = async (button, code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code); // refused: the keyboard can copy it
      return;
    }
    button.textContent = words.copied;
    setTimeout(() => (button.textContent = words.copy), 1500);
  };

  const codeBlock = (text) => {
    const code = make("pre", "code", text);
    code.tabIndex = 0;
    const button = make("button", "copy", words.copy);
    button.type = "button";
    button.addEventListener("click", () => copy(button, code));
    return make("div", "", code, button);
  };

  const body = (match) => {
    const where = fill(words.where, match);
    const parts = [
      make("p", "where", make("span", SURE[match.confidence], sureness(match)), ` ${where}`),
      make("pre", "message", match.message),
      make("p", "name", words.cause),
      make("p", "", match.cause),
    ];
    if (match.causes.length) {
      parts.push(make("ol", "", ...match.causes.map((cause) => make("li", "", cause))));
    }
    parts.push(make("p", "name", words.fix), make("p", "", match.fix));
    if (match.code.length) parts.push(codeBlock(match.code.join("\n")));
    if (match.page) {
      const link = make("a", "", match.title);
      link.href = match.page;
      parts.push(make("p", "", `${words.page} `, link));
    }
    return parts;
  };
  const sureness = (match) => words[`confidence.${SURE[match.confidence]}`];

  const item = (match, place) => {
    if (place === 0) return make("li", "answer", make("h3", "title", match.title), ...body(match));
    const sure = make("span", SURE[match.confidence], sureness(match));
    const summary = make("summary", "", `${match.title} `, sure);
    return make("li", "answer", make("details", "", summary, ...body(match)));
  };

  const show = ({ matches, left }) => {
    const best = matches.slice(0, MOST);
    if (best.length) {
      const said = best.length === 1 ? words.one : words.several;
      status.textContent = fill(said, { count: best.length, title: best[0].title });
      answers.replaceChildren(...best.map(item));
    } else {
      const [first, ...others] = words.nothing.split("\n\n");
      status.textContent = first;
      const blocks = others.map((block) =>
        block.startsWith("    ") ? codeBlock(block.replace(/^ {4}/gm, "")) : make("p", "", block),
      );
      answers.replaceChildren(make("li", "nothing", ...blocks));
    }
    cut.textContent = [held && words.shown, left && fill(words.cut, left)].filter(Boolean).join(" ");
  };

  const say = (text) => {
    status.textContent = text;
    cut.textContent = "";
    answers.replaceChildren();
  };

  // -- The search

  const serve = (engine) => {
    let explain;
    onmessage = ({ data }) => {
      if (explain) postMessage(explain(data));
      else explain = engine(data);
    };
  };
  const program = new Blob([`(${serve})(${globalThis.guideErrorEngine});`], {
    type: "text/javascript",
  });
  let worker = null;
  let busy = 0; // the timer of the search that is under way
  let pause = 0;
  let held = ""; // a text that is too long for the box, as long as nobody edits what is shown of it

  const stop = (text) => {
    clearTimeout(busy);
    busy = 0;
    worker?.terminate();
    worker = null;
    if (text) say(text);
  };

  const start = () => {
    const address = URL.createObjectURL(program);
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.onerror = () => stop(words.broken);
    worker.onmessage = ({ data }) => {
      clearTimeout(busy);
      busy = 0;
      show(data);
    };
    worker.postMessage(catalogue);
  };

  const search = () => {
    clearTimeout(pause);
    if (busy) stop(); // an answer to a text that is no longer there
    const text = held || box.value;
    if (!text.trim()) {
      say("");
      return;
    }
    if (!worker) start();
    busy = setTimeout(() => stop(words.slow), PATIENCE);
    worker.postMessage(text);
  };

  // browsers need minutes to lay out megabytes in a box
  const hold = (event, given) => {
    const text = given?.getData("text/plain") ?? "";
    if (text.length <= SHOWN) return;
    event.preventDefault();
    box.value = `${text.slice(0, SHOWN / 5)}\n\n…\n\n${text.slice(-SHOWN / 5)}`;
    held = text;
    search();
  };
  box.addEventListener("paste", (event) => hold(event, event.clipboardData));
  box.addEventListener("drop", (event) => hold(event, event.dataTransfer));
  box.addEventListener("input", () => {
    held = "";
    clearTimeout(pause);
    pause = setTimeout(search, PAUSE);
  });
  const put = (text) => {
    held = "";
    box.value = text;
    search();
  };
  for (const button of form.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => {
      put(button.dataset.example);
    });
  }
  find("clear").addEventListener("click", () => {
    put("");
    box.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.parentElement.querySelector(".decoder-without").hidden = true;
  form.hidden = false;
  if (box.value) search(); // the reader came back to the page
}
