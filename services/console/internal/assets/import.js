// The import of subscribers. The browser cuts a list into pieces. The console first checks all of them, then writes them.
// Without this script, the form carries the whole list.
'use strict';
(() => {
  const $ = (query) => document.querySelector(query);
  const form = $('form[data-import]');
  if (!form) return;
  const rowsOfPiece = 1000, charsOfPiece = 200_000, longestRow = 32_768, largestFile = 64 << 20, shown = 20;
  const { Halt, say, post, row, bar } = globalThis.pieces;
  const [run, title, refusals, list] = ['[data-run]', '#run', '[data-refusals]', '[data-refused]'].map($);
  const [write, go, stop] = ['[data-write]', '[data-go]', '[data-stop]'].map($);
  const counts = [...run.querySelectorAll('dl > div')];
  const rows = (n, one = 'row') => `${n.toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`;
  const are = (n) => `${rows(n)} ${n === 1 ? 'is' : 'are'}`;

  // A record ends with a line, unless the line break is in quotation marks.
  const cut = (text) => {
    const pieces = [];
    let quoted = false, line = 1, record = 0, of = 1, begin = 0, first = 1, count = 0, head;
    for (let i = 0; i <= text.length; i++) {
      const c = i < text.length ? text.charCodeAt(i) : -1;
      if (c === 34) quoted = !quoted;
      if (c === 10) line++;
      if (c !== -1 && (c !== 10 || quoted)) continue;
      const row = text.slice(record, i);
      if (row.length > longestRow) throw new Halt(`Line ${of}: A row has at most 32,768 characters. Perhaps a quotation mark is not closed.`, true);
      if (/[^\s,;"]/.test(row) && !(of === 1 && /^\ufeff?"?sep=."?$/i.test(row))) { // the second is no row: it names the separator for Excel
        head ??= row;
        count++;
      }
      [record, of] = [i + 1, line];
      if (c !== -1 && count < rowsOfPiece && i - begin < charsOfPiece) continue;
      if (count) pieces.push({ line: first, text: text.slice(begin, i + 1), count });
      [begin, first, count] = [i + 1, line, 0];
    }
    const all = pieces.reduce((sum, p) => sum + p.count, 0);
    return { pieces, head, rows: all, all };
  };

  const read = async () => {
    const file = form.elements.file.files[0];
    if (!file) return form.elements.rows.value;
    if (file.size > largestFile) throw new Halt('The file has more than 64 MiB. Divide it.', true);
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const encoding = { '255,254': 'utf-16le', '254,255': 'utf-16be' }[bytes.slice(0, 2)] ?? 'utf-8'; // by the byte order mark
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
      if (!text.includes('\0')) return text;
    } catch {}
    throw new Halt('The file must be text in UTF-8. Save it as “CSV UTF-8”.', true);
  };

  let work, step, at, done, sums, refused, stopping;
  const seen = new Map(); // line of each address that was checked
  const progress = () => {
    globalThis.pieces.progress(`${step === 'write' ? 'Imported' : 'Checked'} ${done.toLocaleString('en')} of ${rows(work.all)}.`, done / work.all);
    sums.forEach((n, i) => {
      counts[i].lastChild.textContent = n.toLocaleString('en');
      counts[i].firstChild.textContent = [['to create', 'to update', 'refused'], ['created', 'updated', 'refused']][+(step === 'write')][i];
    });
  };

  // A piece may be sent again: rows that are written already are only updated.
  const send = async (piece) => {
    const body = new FormData();
    for (const [name, value] of Object.entries({ dashboard: form.elements.dashboard.value, ask: form.elements.ask.checked ? 'on' : '', again: form.elements.again.checked ? 'on' : '', step, head: work.head, line: piece.line, earlier: piece.earlier ?? '', rows: piece.text })) body.append(name, value);
    return post(form.dataset.import, { body }, stopping.signal, () => true, () => {});
  };

  const showRefused = (head) => {
    refusals.hidden = !refused.length;
    list.replaceChildren(...refused.slice(0, shown).map((r) => row(r.address, `Line ${r.line}: ${r.reason}`)));
    $('[data-more]').hidden = refused.length <= shown;
    $('#refused-text').textContent = head + refused.map((r) => r.row).join('');
  };
  const ends = (on) => document.querySelectorAll('[data-end]').forEach((link) => { link.hidden = !on; });
  const buttons = (...on) => [write, go, stop].forEach((b) => { b.hidden = !on.includes(b); });

  const proceed = async () => {
    stopping = new AbortController();
    buttons(stop);
    ends(false);
    let head = '', notes = '';
    try {
      for (progress(); at < work.pieces.length; at++) {
        const piece = work.pieces[at];
        let got = await send(piece);
        const earlier = Object.entries(got.addresses ?? {}).filter(([address]) => step === 'check' && seen.has(address)).map(([address, row]) => `${row}:${seen.get(address)}`);
        if (earlier.length) { // the console knows this piece only, so that these rows are refused now and when they are written
          piece.earlier = earlier.join(' ');
          got = await send(piece);
        }
        if (got.problem) throw new Halt(got.problem, true);
        if (step === 'check') Object.entries(got.addresses).forEach(([address, row]) => seen.set(address, row));
        sums = [sums[0] + got.created, sums[1] + got.updated, sums[2] + got.refused.length];
        done += got.created + got.updated + got.refused.length;
        refused.push(...got.refused);
        ({ head } = got);
        if (at === 0) work.all = work.rows - got.named; // the header is no row
        if (!work.all) throw new Halt('The list has no row with an address.', true);
        notes = (got.named ? '' : ' The list has no names of columns, so only its first column is read.') + (got.unread?.length ? ` Columns that are not read: ${got.unread.join(', ')}.` : '');
        progress();
        if (stopping.signal.aborted && at < work.pieces.length - 1) {
          at++;
          throw new Halt('Stopped.');
        }
      }
      title.textContent = step === 'write' ? `${are(done)} imported` : `${are(done)} checked. Nothing is written yet`;
      say((refused.length ? `${rows(refused.length)} refused.` : 'No row is refused.') + notes);
      write.textContent = `Import ${rows(sums[0] + sums[1], 'subscriber')}`;
      buttons(...step === 'check' && sums[0] + sums[1] ? [write] : []);
      ends(step === 'write' || !(sums[0] + sums[1]));
    } catch (e) {
      say(`${e.message} ${step === 'check' ? 'Nothing is written.' : `${done.toLocaleString('en')} of ${are(work.all)} written. Rows that are written already are not written twice.`}`);
      buttons(...e.final ? [] : [go]);
      ends(true);
    }
    stopping = undefined;
    showRefused(head);
    title.focus();
  };
  const begin = (what) => {
    [step, at, done, sums, refused, bar.value] = [what, 0, 0, [0, 0, 0], [], 0];
    title.textContent = what === 'write' ? 'Importing the rows' : 'Checking the rows';
    return proceed();
  };

  form.addEventListener('submit', async (e) => {
    if (!form.elements.file.files.length === !form.elements.rows.value.trim()) return; // the console says what is wrong
    e.preventDefault();
    form.hidden = $('[data-help]').hidden = true;
    run.hidden = false;
    title.focus();
    try {
      work = cut((await read()).replace(/\r\n?/g, '\n'));
      if (!work.all) throw new Halt('The list has no row with an address.', true);
    } catch (wrong) {
      say(wrong.message);
      buttons();
      return ends(true);
    }
    begin('check');
  });
  write.addEventListener('click', () => begin('write'));
  go.addEventListener('click', proceed);
  stop.addEventListener('click', () => { // the piece that is under way is counted
    if (!stopping) return;
    say('Stopping …');
    stopping.abort();
  });
  addEventListener('beforeunload', (e) => { if (stopping && step === 'write') e.preventDefault(); });
})();
