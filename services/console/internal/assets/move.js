// The import of a status page. The browser holds the lines of the source in pieces. The console first plans all of them, then
// writes them. Without this script, the form carries the lines.
'use strict';
(() => {
  const $ = (query) => document.querySelector(query);
  const form = $('form[data-move], form[data-unmove]');
  if (!form) return;
  const parts = form.dataset.move ?? form.dataset.unmove, shown = 20;
  const { Halt, say, progress, pause, post, row, bar } = globalThis.pieces;
  const [run, title, said, losses, list] = ['[data-run]', '#work', '[data-said]', '[data-losses]', '[data-lost]'].map($);
  const [write, go, stop, undo, save, back, end, sums, named, wrong, note] = ['write', 'go', 'stop', 'undo', 'save', 'back', 'end', 'sums', 'id', 'wrong', 'note'].map((name) => $(`[data-${name}]`));
  const words = [['dashboard', 'Dashboards'], ['component', 'Components'], ['event', 'Incidents and maintenances'], ['alias', 'Old addresses'], ['placement', 'Components put on a dashboard'], ['subscriber', 'Subscribers'], ['endpoint', 'Webhooks']];
  const places = { created: 0, updated: 1, unchanged: 2, kept: 3 }, labels = ['new', 'changed', 'as before', 'kept', 'refused'];
  const number = (n) => n.toLocaleString('en');

  // nameOf returns the name of a record within a run. An old address and a component may be on several dashboards.
  const nameOf = (o) => `${o.kind} ${o.key}${['alias', 'placement'].includes(o.kind) ? ` ${o.dashboard ?? o.dashboardId}` : ''}`;

  let records = [], stopping, pieces = [], names = {}, at, state, outcomes, planned = new Map(), plans = [], begun = new Map(), doubtful = new Map(), unsure, read = [], lost, runId, work;
  const buttons = (...on) => [write, go, stop, undo, save, back, end].forEach((b) => { if (b) b.hidden = !on.includes(b); });

  // send posts a body to a part, compressed unless it has a key. It repeats a request to which there is no response: each may be repeated.
  const send = async (part, body, secret) => {
    const whole = new Response(body instanceof FormData ? body : JSON.stringify(body));
    const headers = { 'Content-Type': whole.headers.get('Content-Type') };
    let content = body;
    if (!secret) {
      headers['Content-Encoding'] = 'gzip';
      content = await new Response(whole.body.pipeThrough(new CompressionStream('gzip'))).blob();
      if (content.size > 8 << 20) throw new Halt('The files have more than 8 MiB, compressed. Use the command bellbuoy import.', true);
    }
    return post(parts + part, { body: content, headers: secret ? {} : headers }, stopping.signal, (got) => {
      if (got.problem && !got.again) throw Object.assign(new Halt(got.problem), { got });
      if (got.again) take(got);
      return !got.again;
    }, () => { unsure ||= work === 'write'; });
  };

  // take adds the outcomes of a piece. If a response was lost, a record that the plan says is new, and that is there now, is from its request.
  const take = (got) => {
    for (const o of got.outcomes ?? []) {
      const name = nameOf(o);
      if (work === 'write' && (o.status === 'unchanged' || o.kind === 'subscriber' && o.status === 'updated') && (unsure && planned.get(name)?.status === 'created' || doubtful.has(name))) {
        [o.status, o.since] = ['created', (doubtful.get(name) ?? begun.get(name))?.since];
      }
      if (o.kind === 'placement' && o.status === 'unchanged') continue; // it belongs to a component that is counted
      if (work === 'plan') {
        planned.set(name, o);
        (plans[at] ??= new Map()).set(name, [o, performance.now()]);
      }
      const before = outcomes.get(name);
      if (!before || !kept(before)) outcomes.set(name, o);
      else if (kept(o)) outcomes.set(name, again(before, o));
      if (work === 'write' && o.kind === 'dashboard' && o.status === 'created') state.made = { ...state.made, [o.id]: true };
    }
    if (work === 'write') store(got.outcomes ?? []);
    if (got.lost) lost.push(...got.lost);
  };

  const firstUpper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const allLost = () => [...read, ...lost, ...[...outcomes.values()].filter((o) => o.text || !(o.status in places) || o.status === 'kept')
    .map((o) => ({ key: o.key, name: names[o.key]?.name, text: firstUpper(o.text ? `${o.status}: ${o.text}` : o.status) }))];
  const showLost = () => {
    const all = allLost();
    losses.hidden = !all.length;
    list.replaceChildren(...all.slice(0, shown).map((l) => l.name ? row(l.name, l.text.replace(/\bline \d+: /, '')) : row(l.key, l.text)));
    $('#lost-text').textContent = all.map((l) => `${l.key}\t${l.name ?? ''}\t${l.text}\n`).join('');
    $('#lost-text').closest('.field').hidden = all.length <= shown; // else the list has all of them
  };
  const showSums = () => {
    const total = [0, 0, 0, 0, 0], by = {};
    for (const o of outcomes.values()) {
      const place = places[o.status] ?? 4;
      const count = (kind, n) => {
        total[place] += n;
        (by[kind] ??= [0, 0, 0, 0, 0])[place] += n;
      };
      count(o.kind, 1);
      if (o.kind === 'event' && place < 3 && names[o.key]?.aliases) count('alias', names[o.key].aliases); // they have no outcomes of their own
    }
    const bad = allLost().length;
    run.querySelectorAll('.counts > div').forEach((div, i) => {
      div.lastChild.textContent = number(i < 2 ? total[i] : bad);
      if (i === 2) div.classList.toggle('x', bad > 0);
    });
    sums.replaceChildren(...words.filter(([kind]) => by[kind]).map(([kind, label]) => {
      const [row, to, name, side] = ['li', 'div', 'b', 'div'].map((tag) => document.createElement(tag));
      [to.className, side.className] = ['to', 'side-by'];
      name.textContent = label;
      to.append(name);
      by[kind].forEach((n, i) => {
        if (!n) return;
        const span = document.createElement('span');
        span.textContent = `${number(n)} ${labels[i]}`;
        side.append(span);
      });
      row.append(to, side);
      return row;
    }));
    return total;
  };
  const kept = (o) => o.kind !== 'event' && (o.status === 'created' || o.status === 'updated' && o.before);
  // undoable returns what an undo needs: what was written, and what was about to be created without a known result.
  const undoable = () => [...[...outcomes.values()].filter(kept),
    ...[...begun].filter(([name]) => !outcomes.has(name)).map(([, o]) => ({ ...o, planned: true }))];
  const jsonLines = (records) => records.map((line) => `${JSON.stringify(line)}\n`).join('');
  // again returns the outcome of a record that the run has written as before says, and now as o says. It combines both as
  // Outcome.again of the package transfer does.
  const again = (before, o) => {
    if (o.status !== 'updated' || o.id !== before.id) return o;
    const [settings, content] = (before.mark ?? '').split('+');
    if (o.was !== settings) return before; // somebody else has changed the record between
    return { ...before, mark: content === undefined ? o.mark : `${o.mark}+${content}`, ...before.before && { before: { ...o.before, ...before.before } } };
  };
  // recordsOf returns what an undo needs of the lines of the file of a run.
  const recordsOf = (text, id) => {
    const found = new Map();
    let done = false;
    for (const line of text.split('\n').filter((l) => l.trim())) {
      const o = JSON.parse(line), name = nameOf(o);
      if (o.kind === 'run' && o.runId !== id) throw new Halt('');
      if (o.kind === 'done') done = true;
      const before = found.get(name);
      if (o.status === 'undone') found.delete(name);
      else if (kept(o)) found.set(name, before && !before.planned && !o.planned ? again(before, o) : o);
    }
    return [...found.values()].filter((o) => !o.planned || !done && o.status === 'created');
  };

  // The tab keeps the run after a reload or a crash: its id, what the member has chosen, and the lines of the file of the run
  // in parts. It keeps no lines of the source and no key.
  const put = (name, text) => {
    try {
      sessionStorage.setItem(`import.${name}`, text);
      return true;
    } catch { /* The storage is full or forbidden. The file of the run has the rest. */ }
  };
  const storedNames = () => {
    try {
      return Object.keys(sessionStorage).filter((name) => name.startsWith('import.')).sort();
    } catch {
      return [];
    }
  };
  const forget = (stored = storedNames()) => stored.forEach((name) => sessionStorage.removeItem(name));
  const recall = () => {
    try {
      const stored = JSON.parse(sessionStorage.getItem('import.run'));
      return stored && { ...stored, records: recordsOf(storedNames().filter((name) => name !== 'import.run').map((name) => sessionStorage.getItem(name)).join('') + (stored.done ? '{"kind":"done"}\n' : ''), stored.runId) };
    } catch {
      return null;
    }
  };
  const fields = ['source', 'into', 'slug', 'timezone', 'outages', 'ask', 'force'];
  const chosen = () => Object.fromEntries(fields.map((name) => [name, form.elements[name].type === 'checkbox' ? form.elements[name].checked : form.elements[name].value]));
  const storeRun = (done) => put('run', JSON.stringify({ runId, done, chosen: chosen(), only: new FormData(form).getAll('only') }));
  let chunk = 0;
  const store = (records) => {
    const text = jsonLines(records.filter(kept));
    return !text || put(`${Date.now()}.${String(chunk++).padStart(6, '0')}`, text); // the names are in the order of time
  };

  // declare stores what the next piece is about to create. A record of a later piece is not one of the run: until then, a member
  // may create it. The time of the platform is that of its response to the plan, and what has passed since.
  const declare = () => {
    const now = (since, heard) => since && new Date(Date.parse(since) + performance.now() - heard).toISOString();
    const fresh = [...plans[at] ?? []].filter(([name, [o]]) => kept(o) && o.status === 'created' && !begun.has(name)).map(([name, [o, heard]]) => [name, { ...o, since: now(o.since, heard) }]);
    for (const [name, o] of fresh) begun.set(name, o);
    store(fresh.map(([, o]) => ({ ...o, planned: true })));
  };

  const keepRun = (done) => {
    const head = { kind: 'run', runId, url: form.dataset.url, dashboard: '', source: form.elements.source.value, file: '', startedAt: new Date().toISOString() };
    storeRun(done);
    save.href = URL.createObjectURL(new Blob([jsonLines([head, ...undoable(), ...done ? [{ kind: 'done' }] : []])], { type: 'application/jsonl' }));
    save.download = `import-${runId}.jsonl`;
    named.hidden = false;
    named.querySelector('code').textContent = runId;
  };

  const download = async (data) => {
    let place = '', last;
    for (let n = 1; ; n++) {
      const body = new URLSearchParams({ page: $('#page-id').value.trim(), key: $('#source-key').value, place, people: data.getAll('only').some((kind) => kind === 'subscribers' || kind === 'endpoints') ? 'on' : '' });
      const got = await send('statuspage', body, true);
      if (!got.wait) {
        if (last?.name.slice(0, -10) === got.name.slice(0, -10) && last.text === got.text) throw new Halt('Statuspage returns the same page of a list again.', true);
        data.append('file', new File([got.text], got.name), got.name);
        last = got;
        said.textContent = `Statuspage has sent ${n} ${n === 1 ? 'file' : 'files'}.`;
      }
      if (!got.next && !got.wait) return;
      place = JSON.stringify(got.next);
      await pause(Math.max(1, got.wait), stopping.signal);
      if (stopping.signal.aborted) throw new Halt('Stopped.', true);
    }
  };
  const readSource = async () => {
    const data = new FormData(form);
    for (const name of ['file', 'folder']) {
      data.delete(name);
      if (form.elements[name].disabled) continue;
      for (const file of form.elements[name].files) {
        const path = file.webkitRelativePath || file.name;
        if (!/(^|\/)(\.git|node_modules)\//.test(path)) data.append(name, file, path);
      }
    }
    if (!data.has('file') && !data.has('folder') && data.get('source') === 'statuspage') await download(data);
    const got = await send('read', data);
    [pieces, names, read] = [got.pieces, got.names ?? {}, got.lost ?? []];
    note.textContent = got.note ?? '';
    note.hidden = !got.note;
  };

  const all = () => pieces.reduce((sum, p) => sum + p.count, 0);
  const proceed = async () => {
    stopping = new AbortController();
    buttons(stop);
    try {
      if (work === 'read') {
        await readSource();
        begin('plan');
      }
      for (; at < pieces.length; at++) {
        const piece = pieces[at], sent = { state, text: piece.text, ask: form.elements.ask.checked, force: form.elements.force.checked };
        if (work === 'write') declare();
        try {
          const got = await send(work, sent);
          take(got);
          unsure = false;
          state = { ...got.state, made: { ...got.state.made, ...state.made } };
        } catch (e) {
          if (e.got) take(e.got);
          throw e;
        }
        const done = pieces.slice(0, at + 1).reduce((sum, p) => sum + p.count, 0);
        progress(`${work === 'write' ? 'Imported' : 'Checked'} ${number(done)} of ${number(all())} records.`, done / all());
        showSums();
        if (stopping.signal.aborted && at < pieces.length - 1) {
          at++;
          throw new Halt('Stopped.');
        }
      }
      const total = showSums();
      if (work === 'plan') {
        title.textContent = 'The plan. Nothing is written yet';
        const bad = allLost().length;
        say(total[0] + total[1] ? bad ? 'Look at what is lost, changed or kept, then import.' : 'Nothing is lost. You can import now.' : bad ? 'Nothing can be imported.' : 'Everything of the source is here already.');
        buttons(...total[0] + total[1] ? [write, back] : [back]);
      } else {
        title.textContent = 'The import is complete';
        say('Nobody was notified. A new dashboard is disabled until you enable it.');
        keepRun(true);
        buttons(end, save, undo);
      }
    } catch (e) {
      const wrote = work === 'write';
      if (work === 'read') {
        show(true);
        wrong.hidden = false;
        wrong.querySelector('p').textContent = e.message;
        return wrong.focus();
      }
      say(`${e.message} ${wrote ? 'What is written stays; nothing is written twice.' : 'Nothing is written.'}`);
      if (wrote) keepRun(false);
      buttons(...e.final ? [] : [go], ...wrote ? [save, undo] : [back]);
    }
    stopping = undefined;
    showLost();
    title.focus();
  };
  const begin = (what) => {
    [work, at, lost, outcomes, unsure, bar.value] = [what, 0, [], new Map(), false, 0];
    if (what === 'plan') [state, planned, plans] = [{}, new Map(), []];
    if (what === 'write') {
      const earlier = recall(), same = earlier && !earlier.done && ['source', 'into', 'slug'].every((name) => earlier.chosen[name] === chosen()[name]);
      if (!same) forget();
      const former = storedNames().filter((name) => name !== 'import.run'), there = same ? earlier.records.filter((o) => planned.get(nameOf(o))?.status !== 'created') : [];
      const made = there.filter((o) => o.kind === 'dashboard' && o.status === 'created' && !o.planned);
      outcomes = new Map(there.filter((o) => !o.planned).map((o) => [nameOf(o), o]));
      doubtful = new Map(there.filter((o) => o.planned).map((o) => [nameOf(o), o]));
      begun = new Map(doubtful);
      runId = same ? earlier.runId : crypto.randomUUID?.() ?? '10000000-1000-4000-8000-100000000000'.replace(/[018]/g, (c) => (c ^ crypto.getRandomValues(new Uint8Array(1))[0] & 15 >> c / 4).toString(16));
      state = { ...state, runId, made: Object.fromEntries(made.map((o) => [o.id, true])),
        planned: Object.fromEntries([...planned, ...doubtful].filter(([, o]) => o.kind === 'component' && o.status === 'created').map(([, o]) => [o.key, true])) };
      storeRun(false);
      if (store([...outcomes.values(), ...[...doubtful.values()].map((o) => ({ ...o, planned: true }))])) forget(former); // without what does not exist
    }
    title.textContent = { read: 'Reading the source', plan: 'Comparing', write: 'Importing' }[what];
  };

  // The undo deletes the events of the run, then the other records; dashboards come last.
  const unmake = async () => {
    stopping = new AbortController();
    buttons(stop);
    title.textContent = 'Undoing the import';
    run.querySelectorAll('.counts, [data-sums], [data-id], [data-note]').forEach((part) => { part.hidden = true; });
    bar.value = 0;
    const stay = [];
    let gone = 0;
    try {
      for (let left = 1, first; left; ) {
        const got = await send('undo', { runId });
        gone += got.gone;
        left = got.left;
        first ??= got.gone + left;
        if (!left && got.kept) stay.push({ key: `${number(got.kept)} events`, text: 'were changed after the import' });
        progress(`${number(gone)} records are undone.`, first ? .5 * (1 - left / first) : .5);
        if (stopping.signal.aborted) throw new Halt('Stopped.');
      }
      // One request has room for this number of planned records. Their dashboards come first, because the others are found on them.
      for (const most = 20_000; records.some((o) => o.planned);) {
        const unknown = records.filter((o) => o.planned).sort((a, b) => (b.kind === 'dashboard') - (a.kind === 'dashboard')), sent = new Set(unknown.slice(0, most));
        const got = await send('undo', { runId, planned: [...sent], outcomes: records.filter((o) => o.kind === 'dashboard' && !o.planned) });
        records = records.filter((o) => !sent.has(o)).concat(got.outcomes ?? []);
        if (stopping.signal.aborted) throw new Halt('Stopped.');
      }
      const order = ['alias', 'subscriber', 'endpoint', 'placement', 'component', 'dashboard'];
      records.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
      for (let n = records.length; records.length;) {
        const got = await send('undo', { runId, outcomes: records.slice(0, 50) });
        records.splice(0, 50);
        for (const o of got.undone ?? []) o.gone ? gone++ : stay.push({ key: o.key, name: names[o.key]?.name, text: firstUpper(o.text ?? '') });
        progress(`${number(gone)} records are undone.`, 1 - records.length / n / 2);
        if (stopping.signal.aborted && records.length) throw new Halt('Stopped.');
      }
      forget();
      title.textContent = 'The import is undone';
      bar.value = 1;
      say(`${number(gone)} records are undone${stay.length ? `, ${number(stay.length)} are kept` : ''}.`);
      buttons(end, back);
    } catch (e) {
      say(`${e.message} ${number(gone)} records are undone.`);
      buttons(go, back);
    }
    stopping = undefined;
    [read, lost, outcomes] = [[], stay, new Map()];
    showLost();
    title.focus();
  };
  // show shows the form, or else the work.
  const show = (on) => {
    document.querySelectorAll('.lede, .head .acts').forEach((part) => { part.hidden = !on; });
    if (!on) $('[data-found]')?.setAttribute('hidden', '');
    [form.hidden, run.hidden] = [!on, on];
    if (wrong) wrong.hidden = true;
  };
  const start = () => {
    show(false);
    title.focus();
  };

  form.addEventListener('submit', async (e) => {
    if (form.dataset.unmove) {
      if (!form.elements.run.value.trim()) return; // the console says what is wrong
      e.preventDefault();
      runId = form.elements.run.value.trim();
      work = 'undo';
      start();
      try {
        records = recordsOf(await form.elements.file.files[0]?.text() ?? '', runId);
      } catch {
        say('This is not the file of the run.');
        return buttons(back);
      }
      return unmake();
    }
    if (!form.elements.source.value || !('CompressionStream' in window)) return;
    if (form.elements.source.value !== 'statuspage' && !['file', 'folder'].some((name) => !form.elements[name].disabled && form.elements[name].files.length)) return;
    e.preventDefault();
    start();
    begin('read');
    proceed();
  });
  write?.addEventListener('click', () => { begin('write'); proceed(); });
  go.addEventListener('click', () => work === 'undo' ? unmake() : proceed());
  undo?.addEventListener('click', () => {
    [records, work] = [undoable(), 'undo'];
    unmake();
  });
  stop.addEventListener('click', () => { // the piece that is under way is counted
    if (!stopping) return;
    say('Stopping …');
    stopping.abort();
  });
  addEventListener('beforeunload', (e) => { if (stopping && work === 'write') e.preventDefault(); });

  if (!form.dataset.move) return;
  form.elements.folder.webkitdirectory = true; // not in the page, because only the standard of files has this attribute
  // fit shows the fields that the product needs. A hidden field is not sent.
  const withFolder = ['statuspage', 'cachet', 'uptime-kuma', 'cstate', 'upptime'], onlyFolder = ['cstate', 'upptime'], withoutZone = ['statuspage', 'openstatus', 'lines'];
  const fit = () => {
    const { source: { value: source }, into } = form.elements;
    $('[data-key]').hidden = source !== 'statuspage';
    for (const [name, on] of Object.entries({
      file: !onlyFolder.includes(source), folder: withFolder.includes(source), only: true, into: true, slug: !into.value, timezone: !withoutZone.includes(source),
      outages: source === 'uptime-kuma', ask: form.querySelector('[name=only][value=subscribers]').checked, force: true,
    })) {
      const inputs = form.querySelectorAll(`[name=${name}]`);
      inputs[0].closest('.field').hidden = !(source && on);
      inputs.forEach((input) => { input.disabled = !(source && on); });
    }
    form.querySelector('label[for=folder]').textContent = onlyFolder.includes(source) ? 'Folder' : 'Or a folder';
  };
  form.addEventListener('change', fit);
  fit();

  const stored = recall(), notice = $('[data-found]');
  if (!stored) return;
  notice.hidden = false;
  notice.querySelector('h2').textContent = stored.done ? 'This tab has imported a status page' : 'An import was interrupted';
  notice.querySelector('p').textContent = stored.done ? `Run ${stored.runId} is complete. You can still undo it.` : `Run ${stored.runId}. To go on, choose the same source again. Nothing is written twice.`;
  const resume = $('[data-resume]');
  resume.hidden = stored.done;
  resume.addEventListener('click', () => {
    form.querySelector(`[name=source][value="${CSS.escape(stored.chosen.source)}"]`).checked = true;
    for (const name of fields.slice(1)) form.elements[name][typeof stored.chosen[name] === 'boolean' ? 'checked' : 'value'] = stored.chosen[name];
    form.querySelectorAll('[name=only]').forEach((box) => { box.checked = stored.only.includes(box.value); });
    fit();
    (stored.chosen.source === 'statuspage' ? $('#page-id') : ['file', 'folder'].map((name) => form.elements[name]).find((input) => !input.disabled)).focus();
  });
  $('[data-revert]').addEventListener('click', () => {
    [runId, records, work] = [stored.runId, stored.records, 'undo'];
    start();
    unmake();
  });
  $('[data-forget]').addEventListener('click', () => {
    forget();
    notice.hidden = true;
    form.elements.source[0].focus();
  });
})();
