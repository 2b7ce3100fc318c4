// Shows the installer's answer to the machine that the reader chooses. All answers were computed
// at build (docs/_ext/wheel_answers.py): this walks through the choices and looks the answer up.
for (const form of document.querySelectorAll(".wheel-selector form")) {
  const data = globalThis.guideWheelAnswers;
  const selects = [...form.querySelectorAll("select")];
  const find = (name) => form.querySelector(`.wheel-${name}`);
  const chosen = (select) => select.selectedOptions[0];
  // what the reader asked for comes back when the fields before offer it again
  const wanted = new Map(selects.map((select) => [select, select.value]));

  // what a field offers at a place of the diagram: the key of an option -> the place after it
  const offeredAt = (place, field) => {
    const offered = new Map();
    for (let i = 0; i < data.nodes[place].length; i += 2) {
      offered.set(data.options[field][data.nodes[place][i]], data.nodes[place][i + 1]);
    }
    return offered;
  };

  const at = new Map(); // the place that each field shows now
  const open = new Map(); // its options there

  const narrow = (select, offered) => {
    for (const option of select.options) {
      option.hidden = option.disabled = !offered.has(option.dataset.key);
    }
    for (const group of select.querySelectorAll("optgroup")) {
      group.hidden = [...group.children].every((option) => option.hidden);
    }
    open.set(select, [...select.options].filter((option) => !option.hidden));
    select.disabled = open.get(select).length < 2;
  };

  const walk = () => {
    let place = data.nodes.length - 1;
    selects.forEach((select, field) => {
      const offered = offeredAt(place, field);
      if (at.get(select) !== place) narrow(select, offered);
      at.set(select, place);
      const options = open.get(select);
      const [first] = offered.keys();
      const asked =
        options.find((option) => option.value === wanted.get(select)) ??
        options.find((option) => option.dataset.key === first);
      asked.selected = true;
      place = offered.get(chosen(select).dataset.key);
    });
    return data.answers[place];
  };

  const list = (element, set) => {
    element.replaceChildren(
      ...data.sets[set].map((reason) => {
        const item = document.createElement("li");
        const [text, source] = data.reasons[reason];
        item.append(text);
        if (source) {
          const small = document.createElement("small");
          small.append(source.split("; ")[0]);
          item.append(" ", small);
        }
        return item;
      }),
    );
  };

  const show = () => {
    const [command, why, whyNot] = walk();
    const [text, check, verified] = data.commands[command] ?? ["", "", true];
    const impossible = data.sets[whyNot].length > 0;
    find("impossible").hidden = find("why-not").hidden = !impossible;
    find("nearest").hidden = !impossible || !text;
    find("unverified").hidden = verified;
    find("command").textContent = text;
    find("command").hidden = find("copy").hidden = !text;
    find("check").textContent = check;
    const words = selects.map((select) => chosen(select).dataset.words).filter(Boolean);
    find("question").textContent = ["python -m torchguide install", ...words].join(" ");
    list(find("why-not"), whyNot);
    list(find("why"), why);
  };

  const remember = () => {
    const query = new URLSearchParams(location.search);
    for (const select of selects) {
      if (select.disabled) query.delete(select.name);
      else query.set(select.name, select.value);
    }
    try {
      history.replaceState(null, "", `?${query}${location.hash}`);
    } catch {
      // A page opened as a file may not change its address; the selector works all the same.
    }
  };

  const copy = async () => {
    const button = find("copy");
    try {
      await navigator.clipboard.writeText(find("command").textContent);
    } catch {
      getSelection().selectAllChildren(find("command")); // refused: the keyboard can copy it
      return;
    }
    const label = button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => (button.textContent = label), 1500);
  };

  const query = new URLSearchParams(location.search);
  for (const select of selects) wanted.set(select, query.get(select.name) ?? select.value);
  form.addEventListener("change", (event) => {
    wanted.set(event.target, event.target.value);
    show();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  find("copy").addEventListener("click", copy);
  show();
  form.hidden = false;
}
