"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const path = location.pathname;
  const LATEST_MS = 1000; // least time between two readings of the same table
  const PICTURE_MS = 2000; // between two pictures of a station
  const STOP_MS = 5000; // in which a stop is to be confirmed
  let token = sessionStorage.getItem("token") || "";
  let about = { controls: false, single: null, folder: "" };
  let run = path.startsWith("/runs/") ? decodeURIComponent(path.slice(6)) : null;

  // The token comes behind the #, which no server and no log ever sees.
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    token = given;
    sessionStorage.setItem("token", token);
    history.replaceState(null, "", path + location.search);
  }

  const headers = () => (token ? { Authorization: `Bearer ${token}` } : {});

  async function ask(url) {
    const answer = await fetch(url, { headers: headers() });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer.json();
  }

  function text(node, words) {
    if (node.textContent !== words) node.textContent = words;
  }

  function make(tag, class_, words) {
    const node = document.createElement(tag);
    if (class_) node.className = class_;
    if (words !== undefined) node.textContent = words;
    return node;
  }

  // HTML that the server made of what it had escaped; what was unfolded stays so.
  function html(node, markup) {
    const open = [...node.querySelectorAll("details[open] > summary")].map((s) => s.textContent);
    node.innerHTML = markup;
    for (const summary of node.querySelectorAll("details > summary")) {
      if (open.includes(summary.textContent)) summary.parentElement.open = true;
    }
  }

  // Events, over fetch: an EventSource sends no Authorization.

  async function listen(url, handlers) {
    for (;;) {
      try {
        const answer = await fetch(url, { headers: headers() });
        if (answer.status === 401) {
          askForToken(token ? "This token is wrong." : "");
          return;
        }
        if (!answer.ok) throw new Error((await answer.text()).trim());
        connection("live", "live");
        await read(answer.body.getReader(), handlers);
        connection("lost", "the server has gone; trying again");
      } catch (error) {
        connection("lost", error instanceof TypeError ? "no answer; trying again" : error.message);
      }
      await new Promise((done) => setTimeout(done, 1000));
    }
  }

  async function read(reader, handlers) {
    const decoder = new TextDecoder();
    let kept = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      kept += decoder.decode(value, { stream: true });
      const blocks = kept.split(/\r\n\r\n|\n\n/);
      kept = blocks.pop();
      for (const block of blocks) {
        let name = "", data = "";
        for (const line of block.split(/\r\n|\n/)) {
          if (line.startsWith("event: ")) name = line.slice(7);
          if (line.startsWith("data: ")) data += line.slice(6);
        }
        if (handlers[name]) handlers[name](JSON.parse(data));
      }
    }
  }

  function connection(state, words) {
    $("connection").className = state;
    text($("connection"), words);
  }

  function askForToken(words) {
    $("unlock").hidden = false;
    text($("refusal"), words);
    if (words) connection("lost", "locked");
  }

  $("unlock").addEventListener("submit", (event) => {
    event.preventDefault();
    token = $("token").value.trim();
    sessionStorage.setItem("token", token);
    location.reload();
  });

  // All runs

  const chosen = new Set();
  const rows = new Map();

  function stateOf(node, line) {
    const bad = line.problem || /^(failed|killed|unreadable)/.test(line.state);
    node.className = line.live ? "state-live" : bad ? "state-bad" : "";
    text(node, line.problem ? `unreadable: ${line.problem}` : line.live ? "running" : line.state);
  }

  function showRuns(lines) {
    const body = $("runs").tBodies[0];
    const seen = new Set(lines.map((line) => line.name));
    for (const [name, row] of rows) {
      if (!seen.has(name)) { row.remove(); rows.delete(name); chosen.delete(name); }
    }
    lines.forEach((line, place) => {
      let row = rows.get(line.name);
      if (!row) {
        row = make("tr");
        const box = make("input");
        box.type = "checkbox";
        box.setAttribute("aria-label", `compare ${line.name}`);
        box.addEventListener("change", () => {
          if (box.checked) chosen.add(line.name); else chosen.delete(line.name);
          $("compare").disabled = chosen.size === 0;
        });
        const link = make("a", "", line.name);
        link.href = `/runs/${encodeURIComponent(line.name)}`;
        row.append(make("td"), make("td"), ...Array.from({ length: 6 }, () => make("td")));
        row.cells[0].append(box);
        row.cells[1].append(link);
        for (const at of [5, 6, 7]) row.cells[at].className = "n";
        row.setAttribute("role", "row");
        for (const cell of row.cells) cell.setAttribute("role", "cell");
        rows.set(line.name, row);
      }
      if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] || null);
      text(row.cells[2], line.task);
      stateOf(row.cells[3], line);
      text(row.cells[4], line.success.text + (line.sealed ? " sealed" : ""));
      text(row.cells[5], String(line.rounds));
      text(row.cells[6], line.episodes.toLocaleString("en"));
      text(row.cells[7], line.robot_hours.toFixed(2));
    });
    findRuns();
    const live = lines.filter((line) => line.live).length;
    text($("folder-counts"), lines.length ? `${lines.length} ${lines.length === 1 ? "run" : "runs"} in ${about.folder}, ${live} under way` : `There is no run in ${about.folder} yet.`);
  }

  function findRuns() {
    const words = $("find-run").value.toLowerCase();
    for (const row of rows.values()) row.hidden = !row.textContent.toLowerCase().includes(words);
  }

  $("find-run").addEventListener("input", findRuns);
  $("compare").addEventListener("click", () => {
    location.href = `/compare?${[...chosen].map((name) => `run=${encodeURIComponent(name)}`).join("&")}`;
  });

  async function compare() {
    const shown = await ask(`/api/compare${location.search}`);
    html($("comparison"), shown.html);
  }

  // One run

  function showHead(head) {
    document.title = `${head.task}: ${head.name}`;
    text($("run-task"), head.task);
    text($("run-name"), head.name);
    const bad = /^(failed|killed|unreadable)/.test(head.state);
    $("run-state").className = `badge ${head.reached ? "good" : head.live ? "live" : bad ? "bad" : "plain"}`;
    text($("run-state"), head.live ? "running" : head.reached ? "target reached" : head.state);
    $("problem").hidden = !head.problem;
    text($("problem"), head.problem);
    $("doing").hidden = !head.doing;
    text($("doing-step"), head.round ? `Round ${head.round}: ${head.doing}` : head.doing);
    text($("doing-count"), head.planned ? `${head.done} of ${head.planned}` : "");
    $("doing-bar").hidden = !head.planned;
    $("doing-bar").max = head.planned || 1;
    $("doing-bar").value = head.done;
    text($("deciding"), head.deciding);
    $("controls").hidden = !(about.controls && head.live && token);
    if (about.controls && head.live && !token) askForToken("");
    const tiles = $("tiles");
    while (tiles.children.length > head.tiles.length) tiles.lastChild.remove();
    head.tiles.forEach(([name, value, more], at) => {
      let tile = tiles.children[at];
      if (!tile) {
        tile = make("div", "tile");
        tile.append(make("dt"), make("dd"));
        tile.lastChild.append("", make("small"));
        tile.lastChild.prepend(make("span"));
        tiles.append(tile);
      }
      text(tile.firstChild, name);
      text(tile.lastChild.querySelector("span"), value);
      text(tile.lastChild.querySelector("small"), more);
    });
  }

  const cards = new Map();

  function showStations(stations) {
    for (const one of stations) {
      let card = cards.get(one.number);
      if (!card) {
        card = make("div", "station");
        const head = make("h3", "", `Station ${one.number}`);
        head.append(make("span", "doing"));
        card.append(head, make("p", "what soft"), make("p", "last"), make("p", "count soft"), make("div", "pictures"));
        const button = make("button", "", "Put aside");
        button.type = "button";
        button.addEventListener("click", () => control(button.dataset.action, one.number));
        card.append(button);
        cards.set(one.number, card);
        follow(one.number, card);
        $("stations").append(card);
      }
      const doing = card.querySelector(".doing");
      doing.className = `doing ${one.state}`;
      const running = one.clock_s !== null;
      text(doing, running ? `running ${one.clock_s.toFixed(1)} s` : one.state);
      text(card.querySelector(".what"), running ? `${one.purpose}, ${one.policy}${one.aside ? `; then aside: ${one.reason}` : ""}` : one.reason);
      const last = card.querySelector(".last");
      last.replaceChildren();
      if (one.last) {
        const age = make("span", "soft");
        age.dataset.at = one.last.at;
        last.append(make("span", `verdict-${one.last.outcome}`, one.last.outcome), one.last.stage ? ` at ${one.last.stage}` : "", " ", age);
      } else {
        last.append(make("span", "soft", "no episode yet"));
      }
      text(card.querySelector(".count"), one.judged ? `${one.successes} of ${one.judged} succeeded` : "");
      const button = card.querySelector("button");
      button.hidden = $("controls").hidden;
      button.dataset.action = one.aside ? "back" : "aside";
      text(button, one.aside ? "Put back" : "Put aside");
      card.dataset.drawn = one.drawn ? "yes" : "";
      if (!one.drawn) showPictures(card.querySelector(".pictures"), one);
    }
    ages();
  }

  async function showPictures(place, one) {
    const names = one.pictures.join(" ");
    if (place.dataset.names === names) return;
    place.dataset.names = names;
    const images = await Promise.all(one.pictures.slice(0, 1).map((name) =>
      picture(`/evidence/${encodeURIComponent(run)}/${name}`, `what the verifier saw of station ${one.number}`)));
    place.replaceChildren(...images.filter(Boolean));
  }

  async function picture(url, alt) {
    const answer = await fetch(url, { headers: headers() });
    if (!answer.ok) return null;
    const image = make("img");
    image.alt = alt;
    image.src = URL.createObjectURL(await answer.blob());
    await image.decode().catch(() => {});
    URL.revokeObjectURL(image.src);
    return image;
  }

  // Stations as they are now: each is asked for again once it is there, and only while one looks.
  async function follow(number, card) {
    const place = card.querySelector(".pictures");
    for (;;) {
      if (card.dataset.drawn && !document.hidden) {
        const url = `/api/picture?run=${encodeURIComponent(run)}&station=${number}`;
        const image = await picture(url, `station ${number} now`).catch(() => null);
        if (image && card.dataset.drawn) { place.dataset.names = ""; place.replaceChildren(image); }
      }
      await new Promise((done) => setTimeout(done, PICTURE_MS));
    }
  }

  function ages() {
    for (const node of document.querySelectorAll("[data-at]")) {
      const s = Math.max(0, Date.now() / 1000 - Number(node.dataset.at));
      text(node, s < 90 ? `${s.toFixed(0)} s ago` : s < 5400 ? `${(s / 60).toFixed(0)} min ago` : s < 172800 ? `${(s / 3600).toFixed(0)} h ago` : `${(s / 86400).toFixed(0)} days ago`);
    }
  }

  // The time of day, with the day where it is another.
  function time(at) {
    const node = make("time", "soft");
    if (!at) return node;
    const then = new Date(at * 1000);
    const day = then.toDateString() === new Date().toDateString() ? "" : `${then.toLocaleDateString("sv")} `;
    text(node, day + then.toLocaleTimeString("sv"));
    node.dateTime = node.title = then.toISOString();
    return node;
  }

  async function control(action, station) {
    const body = station === undefined ? { run, action } : { run, action, station };
    try {
      const answer = await fetch("/api/control", {
        method: "POST",
        headers: { ...headers(), "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      const words = (await answer.text()).trim();
      if (answer.status === 401) askForToken("This token is wrong.");
      text($("asked"), answer.ok ? `Asked to ${action}${station === undefined ? "" : `: station ${station}`}.` : words);
    } catch {
      text($("asked"), "No answer.");
    }
  }

  for (const button of document.querySelectorAll("#controls [data-action]")) {
    button.addEventListener("click", () => {
      if (button.dataset.action === "stop" && !button.dataset.sure) {
        button.dataset.sure = "yes";
        text(button, "Stop: click again");
        setTimeout(() => { delete button.dataset.sure; text(button, "Stop"); }, STOP_MS);
        return;
      }
      control(button.dataset.action);
    });
  }

  // Tables that are read by pages: the latest one follows the run, older ones stand still.

  function pages(name, url, show, still = () => false) {
    let before = null, last = 0, waiting = null;
    async function load() {
      waiting = null;
      last = Date.now();
      const query = new URLSearchParams(url());
      query.set("run", run);
      if (before !== null) query.set("before", before);
      try {
        const shown = show(await ask(`/api/${name}?${query}`));
        $(`${name}-older`).hidden = !shown.more;
        $(`${name}-older`).dataset.before = shown.last;
        $(`${name}-latest`).hidden = before === null;
      } catch (error) {
        text($("problem"), error.message);
      }
    }
    $(`${name}-older`).addEventListener("click", () => { before = $(`${name}-older`).dataset.before; load(); });
    $(`${name}-latest`).addEventListener("click", () => { before = null; load(); });
    return {
      restart() { before = null; load(); },
      follow() {
        if (before !== null || waiting !== null || still()) return;
        waiting = setTimeout(load, Math.max(0, last + LATEST_MS - Date.now()));
      },
    };
  }

  const log = pages("log", () => ({ level: $("level").value }), ({ lines, total }) => {
    $("log").replaceChildren(...lines.map((line) => {
      const item = make("li", line.level);
      item.append(time(line.at), make("span", "where", `round ${line.round}`), make("span", "kind", line.kind), make("span", "text", line.text));
      return item;
    }));
    text($("log-count"), `${total} line${total === 1 ? "" : "s"}`);
    const last = lines.length ? lines[lines.length - 1].number : 0;
    return { last, more: lines.length === 50 };
  });

  function searched() {
    const wanted = {};
    for (const [name, value] of new FormData($("search"))) {
      if (name === "stage" ? value !== "*" : value.trim() !== "") wanted[name] = value.trim();
    }
    return wanted;
  }

  const episodes = pages("episodes", searched, ({ episodes: lines, total }) => {
    $("episodes").tBodies[0].replaceChildren(...lines.map((line) => {
      const row = make("tr");
      const cells = [line.number, line.id, line.verdict, line.stage, line.policy, line.purpose, line.station, line.seed, line.seconds.toFixed(1), line.reason];
      row.append(...cells.map((words, at) => make("td", [0, 6, 7, 8].includes(at) ? "n" : at === 2 ? `verdict-${words}` : "", String(words))));
      const button = make("button", "more", line.id.length > 24 ? `…${line.id.slice(-20)}` : line.id); // its end tells it from others
      button.type = "button";
      button.title = line.id;
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => detail(row, button, line.number));
      row.cells[1].replaceChildren(button);
      row.cells[9].title = line.reason;
      return row;
    }));
    text($("episode-count"), `${total.toLocaleString("en")} episode${total === 1 ? "" : "s"}`);
    const last = lines.length ? lines[lines.length - 1].number : 0;
    return { last, more: lines.length === 50 };
  }, () => document.querySelector("#episodes tr.detail") !== null);

  // One episode, unfolded below its line; the table stands still meanwhile.
  async function detail(row, button, number) {
    const shown = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!shown));
    if (shown) {
      row.nextSibling.remove();
      return;
    }
    const below = make("tr", "detail");
    const cell = make("td"), words = make("div", "soft", "reading it");
    cell.colSpan = row.cells.length;
    cell.append(words);
    below.append(cell);
    row.after(below);
    try {
      const query = new URLSearchParams({ run, number });
      words.innerHTML = (await ask(`/api/episode?${query}`)).html; // of what the server has escaped
      words.className = "";
    } catch (error) {
      text(words, error.message);
    }
  }

  function showChoices(choices) {
    for (const name of ["station", "verdict", "stage", "purpose"]) {
      const select = $("search").elements[name];
      const any = new Option("any", name === "stage" ? "*" : "");
      const kept = select.value;
      select.replaceChildren(any, ...choices[name].map((one) => new Option(one === "" ? "none" : String(one), String(one))));
      if (kept) select.value = kept;
    }
    $("policies").replaceChildren(...choices.policy.map((one) => new Option(one)));
  }

  $("level").addEventListener("change", () => log.restart());
  $("search").addEventListener("input", () => episodes.restart());
  $("search").addEventListener("submit", (event) => { event.preventDefault(); episodes.restart(); });
  $("search").addEventListener("reset", () => setTimeout(() => episodes.restart()));

  // Light and dark, as the report has it

  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const say = () => text($("theme"), theme() === "dark" ? "Light" : "Dark");
  const remembered = sessionStorage.getItem("theme");
  if (remembered) root.dataset.theme = remembered;
  $("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    sessionStorage.setItem("theme", root.dataset.theme);
    say();
  });
  dark.addEventListener("change", say);
  say();

  // Which page it is

  function showAbout(told) {
    about = told;
    if (told.single !== null && path === "/") location.replace(`/runs/${encodeURIComponent(told.single)}`);
  }

  setInterval(ages, 1000);
  if (path === "/compare") {
    $("compare-page").hidden = false;
    document.title = "enpire: comparison";
    listen("/api/events", { about: showAbout, runs: () => compare().catch((error) => connection("lost", error.message)) });
  } else if (run !== null) {
    $("run-page").hidden = false;
    listen(`/api/events?run=${encodeURIComponent(run)}`, {
      about: showAbout,
      head: showHead,
      stations: showStations,
      success: (markup) => html($("success"), markup),
      rounds: (markup) => { $("rounds-section").hidden = !markup; html($("rounds"), markup); },
      experiments: (markup) => html($("experiments"), markup),
      choices: showChoices,
      counts: () => { log.follow(); episodes.follow(); },
    });
  } else {
    $("folder-page").hidden = false;
    listen("/api/events", { about: showAbout, runs: showRuns });
  }
})();
