// The page of a dashboard: the preview follows the form, and rows are moved without a request. Without it, buttons do both.
'use strict';
(() => {
  const $ = (query, at = document) => at.querySelector(query);
  const form = $('form[data-preview]');
  if (!form) return;

  // The next preview loads behind the present one. A new frame leaves no entry in the history.
  const button = $('[formtarget=preview]');
  let timer, drawn = 0;
  const draw = () => {
    const frame = $('.preview iframe');
    if (!button || !frame) return;
    const next = frame.cloneNode();
    next.removeAttribute('src');
    next.name = button.formTarget = `preview-${++drawn}`;
    next.className = 'next';
    frame.parentElement.append(next);
    next.addEventListener('load', () => {
      next.className = '';
      while (next.previousElementSibling.matches('iframe')) next.previousElementSibling.remove();
    });
    form.requestSubmit(button);
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(draw, 500);
  };
  // A form that is being sent to be stored needs no preview.
  form.addEventListener('submit', (e) => { if (e.submitter !== button) clearTimeout(timer); });
  document.addEventListener('input', (e) => { if (e.target.form === form && !['add', 'find'].includes(e.target.name)) later(); });

  const list = $('[data-order]');
  if (!list) return;
  const said = $('[data-said]');
  const moved = (row) => {
    const rows = [...row.parentElement.children];
    rows.forEach((r, i) => {
      $('[value^="up "]', r).disabled = i === 0;
      $('[value^="down "]', r).disabled = i === rows.length - 1;
    });
    said.textContent = `${row.dataset.name} is at place ${rows.indexOf(row) + 1} of ${rows.length}. Nothing is saved yet.`;
    later();
  };
  list.addEventListener('click', (e) => {
    const by = e.target.closest('button[name=move]');
    const row = by?.closest('li');
    if (!row || by.value.startsWith('remove')) return;
    e.preventDefault();
    const up = by.value.startsWith('up');
    if (up) row.previousElementSibling?.before(row);
    else row.nextElementSibling?.after(row);
    moved(row);
    (by.disabled ? $(`[value^="${up ? 'down' : 'up'} "]`, row) : by).focus();
  });
  for (const handle of list.querySelectorAll('[data-handle]')) {
    handle.hidden = false;
    handle.ariaHidden = 'true'; // the buttons beside it do the same
    // A row that moves in the document loses the capture of a pointer, so the document listens.
    handle.addEventListener('pointerdown', (e) => {
      e.preventDefault();
      const row = handle.closest('li');
      const held = new AbortController();
      row.classList.add('held');
      document.addEventListener('pointermove', (m) => {
        const under = [...row.parentElement.children].find((r) => {
          const box = r.getBoundingClientRect();
          return m.clientY >= box.top && m.clientY < box.bottom;
        });
        if (!under || under === row) return;
        const box = under.getBoundingClientRect();
        const place = m.clientY < box.top + box.height / 2 ? under : under.nextElementSibling;
        if (place !== row && place !== row.nextElementSibling) row.parentElement.insertBefore(row, place);
      }, held);
      for (const end of ['pointerup', 'pointercancel']) {
        document.addEventListener(end, () => {
          held.abort();
          row.classList.remove('held');
          moved(row);
        }, held);
      }
    });
  }
})();
