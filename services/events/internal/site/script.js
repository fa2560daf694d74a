(() => {
const d = document, root = d.documentElement, $ = (s, e = d) => e.querySelector(s), $$ = (s, e = d) => [...e.querySelectorAll(s)]
const say = $('#live'), stale = $('#stale'), tip = $('#tip'), pause = $('#pause'), zone = $('#zone'), {lang} = root
let main = $('main'), shown = main.innerHTML, seen = Date.now(), asked = seen, fails = 0, tag, timer, busy

// Times in the visitor's zone. The title keeps the time in the dashboard's zone.
const date = new Intl.DateTimeFormat(lang, {dateStyle: 'long', timeZone: 'UTC'})
const time = new Intl.DateTimeFormat(lang, {year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short'})
const local = e => $$('time[datetime*=T]', e).forEach(t => {
  t.title = t.textContent
  t.textContent = time.format(new Date(t.dateTime))
})

// A bar is one tab stop. Arrow keys and the pointer select a day.
const hide = () => { tip.textContent = ''; $('.at')?.remove() }
const bars = () => $$('.bar', main).forEach(bar => {
  const {n, from, today} = bar.dataset, links = {}
  let day = n - 1
  $$('a', bar).forEach(a => {
    links[$('rect', a).getAttribute('x') / 4] = a
    a.tabIndex = -1
    a.ariaLabel = $('title', a).textContent
    $('title', a).remove()
  })
  const show = at => {
    hide()
    day = Math.max(0, Math.min(n - 1, at))
    const mark = d.createElementNS(bar.namespaceURI, 'rect'), box = bar.getBoundingClientRect(), {style} = tip
    for (const [k, v] of Object.entries({class: 'at', x: day * 4, width: 3, height: 36})) mark.setAttribute(k, v)
    bar.append(mark)
    tip.textContent = links[day]?.ariaLabel || date.format(Date.parse(today) - (n - 1 - day) * 864e5) + ': ' + (day < from ? tip.dataset.before : tip.dataset.none)
    style.left = scrollX + Math.max(16, Math.min(box.left + (day + .5) / n * box.width - tip.offsetWidth / 2, root.clientWidth - tip.offsetWidth - 16)) + 'px'
    style.top = scrollY + box.bottom + 'px'
  }
  bar.tabIndex = 0
  bar.onkeydown = e => {
    const to = {ArrowLeft: day - 1, ArrowRight: day + 1, Home: 0, End: n - 1}[e.key]
    if (to !== undefined) show(to), e.preventDefault()
    if (e.key == 'Enter' && links[day]) location = links[day].href.baseVal
  }
  bar.onfocus = () => show(day)
  bar.onblur = hide
  bar.onpointermove = e => show(e.offsetX / bar.clientWidth * n | 0)
  bar.onpointerleave = e => e.relatedTarget != tip && hide()
})
tip.onpointerleave = hide
d.onkeydown = e => e.key == 'Escape' && hide()

// What a reader of the page must be told when it changes. Percentages change each minute.
const gist = e => $$('.state,.pill,.rich,h3', e).map(x => x.textContent) + e.dataset.live
// The element that has the focus is found again by its id, or by its address.
const key = e => e.id ? '#' + CSS.escape(e.id) : e.localName == 'summary' ? key(e.parentNode) + '>summary' : `[href="${e.getAttribute('href')}"]`
function replace(page) {
  const next = $('main', page), html = next.innerHTML, at = $('.low time', page)
  if (at) $('.low time').replaceWith(at), local(at.parentNode)
  if (html == shown) return
  const focus = main.contains(d.activeElement) && key(d.activeElement), x = scrollX, y = scrollY, told = gist(main)
  $$('details[id]', main).forEach(e => { const to = page.getElementById(e.id); if (to) to.open = e.open })
  hide()
  main.replaceWith(next)
  main = next
  shown = html
  d.title = page.title
  local(main)
  bars()
  if (focus) $(focus, main)?.focus({preventScroll: true})
  scrollTo(x, y)
  if (told != gist(main)) say.textContent = say.dataset.text + ' ' + main.dataset.live
}

async function poll() {
  clearTimeout(timer)
  if (busy || d.hidden || pause?.ariaPressed == 'true') return
  let after = 0
  busy = asked = Date.now()
  try {
    const r = await fetch(location.pathname, {cache: 'no-store', headers: tag ? {'If-None-Match': tag} : {}, signal: AbortSignal.timeout(15e3)})
    after = r.headers.get('Retry-After') * 1e3 || 0
    if (r.ok) replace(new DOMParser().parseFromString(await r.text(), 'text/html')), tag = r.headers.get('ETag')
    else if (r.status != 304) throw r
    fails = 0
    seen = Date.now()
    stale.textContent = ''
  } catch {
    fails++
    stale.textContent = stale.dataset.text + ' ' + new Intl.RelativeTimeFormat(lang).format((seen - Date.now()) / 6e4 | 0, 'minute')
  }
  busy = 0
  timer = setTimeout(poll, Math.max(after, Math.min(3e5, pace() * 2 ** fails)))
}
const pace = () => 2e4 + Math.random() * 2e4

local(d)
bars()
if (zone) zone.textContent = zone.dataset.text.replace('{zone}', Intl.DateTimeFormat().resolvedOptions().timeZone)
if (main.dataset.live) {
  if (pause) pause.hidden = false, pause.onclick = () => { pause.ariaPressed = pause.ariaPressed != 'true'; poll() }
  d.onvisibilitychange = () => Date.now() - asked > 2e4 && poll()
  timer = setTimeout(poll, pace())
}
})()
