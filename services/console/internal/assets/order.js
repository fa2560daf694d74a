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
    handle.addEventListener('pointerdown', (e) => {
      e.preventDefault();
      handle.setPointerCapture(e.pointerId);
      const row = handle.closest('li');
      row.classList.add('held');
      const follow = (m) => {
        for (const other of row.parentElement.children) {
          const box = other.getBoundingClientRect();
          if (other === row || m.clientY < box.top || m.clientY > box.bottom) continue;
          if (m.clientY < box.top + box.height / 2) other.before(row);
          else other.after(row);
        }
      };
      handle.addEventListener('pointermove', follow);
      handle.addEventListener('lostpointercapture', () => {
        handle.removeEventListener('pointermove', follow);
        row.classList.remove('held');
        moved(row);
      }, { once: true });
    });
  }
})();
