// The broadcasting calculator and the stride explorer (docs/_ext/shape_tools.py). The rules are
// those of torchguide.tensors, and a test compares the answers of both.
globalThis.guideShapes = (() => {
  const product = (sizes) => sizes.reduce((a, b) => a * b, 1);
  const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;
  const say = (texts, key, values) =>
    texts[key].replace(/\{(\w+)\}/g, (_, name) =>
      Array.isArray(values[name]) ? tuple(values[name]) : String(values[name]),
    );

  class ShapeError extends Error {
    constructor(key, values = {}) {
      super(key);
      this.key = key;
      this.values = values;
    }
  }

  // -- Broadcasting ---------------------------------------------------------------------------

  const broadcast = (shapes) => {
    const axes = Math.max(0, ...shapes.map((shape) => shape.length));
    const aligned = [];
    const wrong = [];
    for (let axis = -axes; axis < 0; axis += 1) {
      const sizes = new Set(
        shapes.filter((shape) => shape.length >= -axis).map((shape) => shape.at(axis)),
      );
      sizes.delete(1);
      aligned.push(sizes.size > 1 ? null : ([...sizes][0] ?? 1));
      if (sizes.size > 1) wrong.push(axis);
    }
    return { shapes, shape: wrong.length ? null : aligned, aligned, wrong };
  };

  const conclusion = ({ shapes, shape, wrong }, texts) => {
    if (shape) return say(texts, "broadcast.fits", { shape });
    const axis = wrong.at(-1);
    const sizes = shapes
      .filter((each) => each.length >= -axis && each.at(axis) !== 1)
      .map((each) => each.at(axis));
    const [a, b] = new Set(sizes);
    return say(texts, "broadcast.wrong", { axis, a, b });
  };

  // -- view: computeStride in PyTorch's aten/src/ATen/TensorUtils.cpp ---------------------------

  const inferred = (elements, wanted) => {
    if (wanted.some((size) => size < -1)) return [wanted, "negative"];
    const open = wanted.filter((size) => size === -1).length;
    if (open > 1) return [wanted, "infer"];
    const known = product(wanted.filter((size) => size !== -1));
    if (!open) return [wanted, known === elements ? "" : "count"];
    if (known === 0) return [wanted, elements === 0 ? "infer" : "count"];
    if (elements % known) return [wanted, "count"];
    return [wanted.map((size) => (size === -1 ? elements / known : size)), ""];
  };

  const rowByRow = (sizes) => {
    let step = 1;
    return sizes
      .toReversed()
      .map((size) => {
        const mine = step;
        step *= Math.max(size, 1);
        return mine;
      })
      .toReversed();
  };

  const viewOf = (size, stride, wanted) => {
    const elements = product(size);
    const [shape, problem] = inferred(elements, wanted);
    const result = { size, stride, shape, blocks: [], problem, newStride: null };
    if (problem) return result;
    if (!size.length || elements === 0) {
      const same = elements === 0 && tuple(size) === tuple(shape);
      return { ...result, newStride: same ? stride : rowByRow(shape) };
    }
    const newStride = shape.map(() => 0);
    let at = shape.length - 1;
    let [axes, count, step, possible] = [[], 1, stride.at(-1), true];
    for (let axis = size.length - 1; axis >= 0; axis -= 1) {
      axes.unshift(axis);
      count *= size[axis];
      if (axis && (size[axis - 1] === 1 || stride[axis - 1] === count * step)) continue;
      let taken = 1;
      const mine = [];
      while (possible && at >= 0 && (taken < count || shape[at] === 1)) {
        newStride[at] = taken * step;
        taken *= shape[at];
        mine.unshift(at);
        at -= 1;
      }
      result.blocks.unshift({ axes, elements: count, step, newAxes: mine, fits: taken === count });
      possible &&= taken === count;
      if (axis) [axes, count, step] = [[], 1, stride[axis - 1]];
    }
    possible &&= at === -1;
    return { ...result, problem: possible ? "" : "merge", newStride: possible ? newStride : null };
  };

  const viewLines = (view, texts) => {
    const lines = [`${tuple(view.size)} stride ${tuple(view.stride)} → ${tuple(view.shape)}`];
    view.blocks.forEach((block, number) => {
      if (number) {
        const k = view.blocks[number - 1].axes.at(-1);
        const inner = product(block.axes.map((axis) => view.size[axis])) * block.step;
        lines.push(say(texts, "view.apart", { k, next: k + 1, stride: view.stride[k], inner }));
      }
      const fresh = block.newAxes.map((axis) => `${axis}: ${view.shape[axis]}`);
      const open = fresh.length ? "view.block.wrong" : "view.block.open";
      lines.push(
        say(texts, block.fits ? "view.block" : open, {
          axes: block.axes.join(", "),
          elements: block.elements,
          stride: block.step,
          new: fresh.join(", ") || "–",
          wrong: fresh[0] ?? "",
        }),
      );
    });
    const [old, fresh] = [product(view.size), product(view.shape)];
    const values = { stride: view.newStride, old, new: fresh };
    lines.push(say(texts, `view.${view.problem || "possible"}`, values));
    return lines;
  };

  // -- Expressions such as arange(12).view(3, 4).T[1:, ::2] ------------------------------------

  const MOST = 64; // cells, as in torchguide.figures

  const tokens = (text) => {
    const found = text.match(/\s+|-?\d+|[A-Za-z_]\w*|\.\.\.|[.,:()[\]=-]|./gu) ?? [];
    return found.filter((token) => token.trim());
  };

  const reader = (text) => {
    const rest = tokens(text);
    const fail = () => {
      throw new ShapeError("syntax", { found: rest[0] ?? "" });
    };
    const next = (wanted) => {
      if (!rest.length || (wanted && rest[0] !== wanted)) fail();
      return rest.shift();
    };
    const integer = () => (/^-?\d+$/.test(rest[0] ?? "") ? Number(rest.shift()) : fail());
    // numbers, or one bracket with numbers, as torch takes both
    const numbers = (close) => {
      const list = [];
      while (rest[0] !== close) {
        if (rest[0] === "(" || rest[0] === "[") {
          const end = next() === "(" ? ")" : "]";
          list.push(...numbers(end));
        } else list.push(integer());
        if (rest[0] !== close) next(",");
      }
      next(close);
      return list;
    };
    const index = () => {
      const items = [];
      while (rest[0] !== "]") {
        if (rest[0] === "...") items.push({ kind: next() });
        else if (rest[0] === "None") items.push({ kind: next() });
        else {
          const parts = [null];
          while (![",", "]", undefined].includes(rest[0])) {
            if (rest[0] === ":") {
              next();
              parts.push(null);
            } else parts[parts.length - 1] = integer();
          }
          if (parts.length > 3 || (parts.length === 1 && parts[0] === null)) fail();
          items.push(parts.length === 1 ? { kind: "at", at: parts[0] } : { kind: "slice", parts });
        }
        if (rest[0] !== "]") next(",");
      }
      next("]");
      return items;
    };
    return { rest, next, numbers, index, fail };
  };

  const axisOf = (tensor, axis, more = 0) => {
    const count = tensor.size.length + more;
    if (axis < -count || axis >= count) throw new ShapeError("axis", { axis, count });
    return axis < 0 ? axis + count : axis;
  };

  const made = (size, value) => {
    if (size.some((each) => each < 0)) throw new ShapeError("negative");
    const count = product(size);
    if (count > MOST) throw new ShapeError("large", { most: MOST });
    return {
      size, stride: rowByRow(size), offset: 0, copied: false,
      cells: Array.from({ length: count }, (_, place) => value(place)),
    };
  };

  const placesOf = (tensor) => {
    let places = [{ index: [], place: tensor.offset }];
    tensor.size.forEach((size, axis) => {
      places = places.flatMap(({ index, place }) =>
        Array.from({ length: size }, (_, i) => ({
          index: [...index, i],
          place: place + i * tensor.stride[axis],
        })),
      );
    });
    return places;
  };

  const contiguous = ({ size, stride }) => {
    const wanted = rowByRow(size);
    return product(size) === 0 || size.every((each, axis) => each === 1 || stride[axis] === wanted[axis]);
  };

  const copy = (tensor) => {
    if (product(tensor.size) > MOST) throw new ShapeError("large", { most: MOST });
    const cells = placesOf(tensor).map(({ place }) => tensor.cells[place]);
    return { size: tensor.size, stride: rowByRow(tensor.size), offset: 0, copied: true, cells };
  };

  const permute = (tensor, order) => ({
    ...tensor,
    size: order.map((axis) => tensor.size[axis]),
    stride: order.map((axis) => tensor.stride[axis]),
  });

  const swap = (tensor, one, other) => {
    const order = tensor.size.map((_, axis) => axis);
    [order[one], order[other]] = [order[other], order[one]];
    return permute(tensor, order);
  };

  const view = (tensor, wanted, { copies }) => {
    const found = viewOf(tensor.size, tensor.stride, wanted);
    if (found.newStride) return { ...tensor, size: found.shape, stride: found.newStride };
    if (!copies || found.problem !== "merge") throw new ShapeError("view", { view: found });
    return { ...copy(tensor), size: found.shape, stride: rowByRow(found.shape) };
  };

  const expand = (tensor, wanted) => {
    const lead = wanted.length - tensor.size.length;
    if (lead < 0) throw new ShapeError("expand", { from: tensor.size, to: wanted });
    const size = [...wanted];
    const stride = wanted.map((to, axis) => {
      const from = axis < lead ? null : tensor.size[axis - lead];
      if (to === -1 && from !== null) size[axis] = from;
      else if (to < 0 || (from !== null && from !== 1 && from !== to)) {
        throw new ShapeError("expand", { from: tensor.size, to: wanted });
      }
      if (from === null) return 0;
      return from === 1 && size[axis] !== 1 ? 0 : tensor.stride[axis - lead];
    });
    return { ...tensor, size, stride };
  };

  const sliced = (tensor, items) => {
    const used = items.filter(({ kind }) => kind === "at" || kind === "slice").length;
    const open = items.filter(({ kind }) => kind === "...").length;
    if (used > tensor.size.length || open > 1) {
      throw new ShapeError("index", { count: tensor.size.length });
    }
    const all = { kind: "slice", parts: [null, null] };
    const rest = Array.from({ length: tensor.size.length - used }, () => all);
    const whole = open ? items.flatMap((item) => (item.kind === "..." ? rest : [item])) : [...items, ...rest];
    let [offset, axis] = [tensor.offset, 0];
    const [size, stride] = [[], []];
    for (const item of whole) {
      if (item.kind === "None") {
        size.push(1);
        stride.push(axis < tensor.size.length ? tensor.size[axis] * tensor.stride[axis] : 1);
        continue;
      }
      const [length, step] = [tensor.size[axis], tensor.stride[axis]];
      axis += 1;
      if (item.kind === "at") {
        if (item.at < -length || item.at >= length) {
          throw new ShapeError("bounds", { index: item.at, size: length });
        }
        offset += (item.at < 0 ? item.at + length : item.at) * step;
        continue;
      }
      const [from, to, by = 1] = item.parts;
      if (by !== null && by <= 0) throw new ShapeError("step");
      const bound = (value, otherwise) =>
        value === null ? otherwise : Math.min(length, Math.max(0, value < 0 ? value + length : value));
      const [first, last] = [bound(from, 0), bound(to, length)];
      size.push(Math.max(0, Math.ceil((last - first) / (by ?? 1))));
      stride.push(step * (by ?? 1));
      offset += first * step;
    }
    return { ...tensor, size, stride, offset };
  };

  const METHODS = {
    view: (tensor, args) => view(tensor, args, { copies: false }),
    reshape: (tensor, args) => view(tensor, args, { copies: true }),
    flatten: (tensor, [first = 0, last = -1]) => {
      if (!tensor.size.length) return view(tensor, [1], { copies: true });
      const [from, to] = [axisOf(tensor, first), axisOf(tensor, last)];
      if (from > to) throw new ShapeError("axis", { axis: first, count: tensor.size.length });
      if (from === to) return tensor;
      const size = [...tensor.size];
      size.splice(from, to - from + 1, product(size.slice(from, to + 1)));
      return view(tensor, size, { copies: true });
    },
    t: (tensor) => {
      if (tensor.size.length > 2) throw new ShapeError("two");
      return tensor.size.length === 2 ? swap(tensor, 0, 1) : tensor;
    },
    transpose: (tensor, [one, other]) => swap(tensor, axisOf(tensor, one), axisOf(tensor, other)),
    permute: (tensor, args) => {
      const order = args.map((axis) => axisOf(tensor, axis));
      if (order.length !== tensor.size.length || new Set(order).size !== order.length) {
        throw new ShapeError("order", { count: tensor.size.length });
      }
      return permute(tensor, order);
    },
    unsqueeze: (tensor, [axis]) => {
      const at = axisOf(tensor, axis, 1);
      const step = at < tensor.size.length ? tensor.size[at] * tensor.stride[at] : 1;
      return { ...tensor, size: tensor.size.toSpliced(at, 0, 1), stride: tensor.stride.toSpliced(at, 0, step) };
    },
    squeeze: (tensor, args) => {
      const gone = args.length ? args.map((axis) => axisOf(tensor, axis)) : null;
      const kept = tensor.size
        .map((_, axis) => axis)
        .filter((axis) => tensor.size[axis] !== 1 || (gone && !gone.includes(axis)));
      return permute(tensor, kept);
    },
    expand: (tensor, args) => expand(tensor, args),
    contiguous: (tensor) => (contiguous(tensor) ? tensor : copy(tensor)),
  };
  METHODS.swapaxes = METHODS.transpose;
  const COUNTS = { t: [0, 0], transpose: [2, 2], swapaxes: [2, 2], unsqueeze: [1, 1], flatten: [0, 2], contiguous: [0, 0] };

  const evaluate = (text) => {
    const { rest, next, numbers, index, fail } = reader(text);
    if (rest[0] === "torch" && rest[1] === ".") rest.splice(0, 2);
    const maker = next();
    if (!["arange", "zeros", "ones"].includes(maker)) {
      throw new ShapeError("begin", { found: maker });
    }
    next("(");
    const args = numbers(")");
    if (maker === "arange" && args.length !== 1) throw new ShapeError("begin", { found: maker });
    let tensor = made(args, maker === "arange" ? (place) => place : () => Number(maker === "ones"));
    while (rest.length) {
      if (rest[0] === "[") {
        next();
        tensor = sliced(tensor, index());
        continue;
      }
      next(".");
      const name = next();
      if (name === "T" || name === "mT") {
        const count = tensor.size.length;
        if (count < 2 || (name === "T" && count > 2)) throw new ShapeError("two");
        tensor = swap(tensor, count - 2, count - 1);
        continue;
      }
      if (!Object.hasOwn(METHODS, name)) {
        throw new ShapeError("method", { found: name, known: ["T", "mT", ...Object.keys(METHODS)].join(", ") });
      }
      next("(");
      const given = numbers(")");
      const [least, most] = COUNTS[name] ?? [0, Infinity];
      if (given.length < least || given.length > most) throw new ShapeError("arguments", { name });
      tensor = METHODS[name](tensor, given);
    }
    if (product(tensor.size) > 4096) throw new ShapeError("large", { most: MOST });
    return { ...tensor, contiguous: contiguous(tensor) };
  };

  const readShapes = (text) =>
    text
      .split(/[;；\n]/)
      .map((part) => part.trim())
      .filter((part) => part)
      .map((part) => {
        const inner = part.replace(/^(?:torch\.Size)?\s*[([（]|[)\]）]$/gu, "").replace(/^\[|\]$/g, "");
        const sizes = inner.split(/[,，×x\s]+/u).filter((size) => size);
        if (!sizes.every((size) => /^\d{1,9}$/.test(size))) throw new ShapeError("shape", { found: part });
        return sizes.map(Number);
      });

  return {
    ShapeError, broadcast, conclusion, contiguous, evaluate, placesOf, product, readShapes, say, tuple,
    viewLines, viewOf,
  };
})();

// -- The forms ----------------------------------------------------------------------------------

for (const form of document.querySelectorAll(".shape-tool")) {
  const { ShapeError, ...shapes } = globalThis.guideShapes;
  const texts = JSON.parse(form.dataset.texts);
  const answer = form.querySelector(".shape-answer");
  const [input, wanted] = form.querySelectorAll("input");

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.append(text);
    if (className) made.className = className;
    return made;
  };

  const row = (cells) => {
    const made = element("tr");
    made.append(...cells);
    return made;
  };

  const broadcastTable = (found) => {
    const table = element("table", undefined, "shape-table");
    const axes = found.aligned.length;
    for (const shape of found.shapes) {
      const cells = found.aligned.map((whole, place) => {
        const size = shape[place - axes + shape.length];
        if (size === undefined) return element("td");
        const bad = whole === null && size !== 1;
        const stretched = size === 1 && whole !== 1 && whole !== null;
        return element("td", stretched ? `1→${whole}` : String(size), bad ? "wrong" : stretched ? "stretched" : "kept");
      });
      table.append(row([element("th", shapes.tuple(shape)), ...cells]));
    }
    const last = found.aligned.map((size) => element("td", size === null ? "≠" : String(size), size === null ? "wrong" : "result"));
    table.append(row([element("th", "→"), ...last]));
    return table;
  };

  const storageTable = (tensor) => {
    const used = Map.groupBy(shapes.placesOf(tensor), ({ place }) => place);
    const table = element("table", undefined, "shape-table shape-storage");
    const columns = 8;
    for (let start = 0; start < tensor.cells.length; start += columns) {
      const places = tensor.cells.slice(start, start + columns).map((_, k) => start + k);
      table.append(
        row(
          places.map((place) => {
            const here = used.get(place);
            const cell = element("td", undefined, here ? "result" : "unused");
            const index = here && (here.length > 1 ? `×${here.length}` : here[0].index.join(","));
            cell.append(element("small", index || "·"), element("span", String(tensor.cells[place])), element("small", String(place)));
            return cell;
          }),
        ),
      );
    }
    return table;
  };

  const show = {
    broadcast: () => {
      const found = shapes.broadcast(shapes.readShapes(input.value));
      const text = element("p", shapes.conclusion(found, texts), found.shape ? "" : "shape-problem");
      return [text, broadcastTable(found)];
    },
    strides: () => {
      const tensor = shapes.evaluate(input.value);
      const facts = element("dl", undefined, "shape-facts");
      for (const [name, value] of [
        ["shape", shapes.tuple(tensor.size)],
        ["stride()", shapes.tuple(tensor.stride)],
        ["storage_offset()", String(tensor.offset)],
        ["is_contiguous()", tensor.contiguous ? "True" : "False"],
      ]) {
        const term = element("dt");
        term.append(element("code", name));
        facts.append(term, element("dd", value));
      }
      const parts = [facts, element("p", texts[tensor.copied ? "copied" : "shared"])];
      if (tensor.cells.length) parts.push(storageTable(tensor));
      if (wanted.value.trim()) {
        const sizes = wanted.value.replace(/[()[\]（）]/gu, " ").split(/[,，\s]+/u).filter((size) => size);
        if (!sizes.every((size) => /^-?\d{1,9}$/.test(size))) throw new ShapeError("shape", { found: wanted.value });
        const view = shapes.viewOf(tensor.size, tensor.stride, sizes.map(Number));
        const list = element("ul", undefined, "shape-steps");
        list.append(...shapes.viewLines(view, texts).map((line) => element("li", line)));
        parts.push(list);
      }
      return parts;
    },
  }[form.dataset.tool];

  const update = () => {
    try {
      answer.replaceChildren(...show());
      input.removeAttribute("aria-invalid");
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      const { view } = error.values;
      const lines = view ? shapes.viewLines(view, texts) : [shapes.say(texts, `error.${error.key}`, error.values)];
      answer.replaceChildren(...lines.map((line) => element("p", line, "shape-problem")));
      input.setAttribute("aria-invalid", "true");
    }
  };

  let pause = 0;
  form.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(update, 200);
  });
  form.addEventListener("change", update); // also by Enter, with which two fields submit nothing
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  for (const button of form.querySelectorAll("button[data-example]")) {
    button.addEventListener("click", () => {
      input.value = button.dataset.example;
      update();
    });
  }
  form.hidden = false;
  update();
}
