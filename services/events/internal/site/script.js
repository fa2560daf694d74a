(() => {
const d = document,root = d.documentElement,{lang} = root,$ = (s,e = d) => e.querySelector(s),$$ = (s,e = d) => [...e.querySelectorAll(s)]
const write = (e,text) => e.textContent = text,intl = (of,zone) => new Intl.DateTimeFormat(lang,{...of,timeZone: zone})
const [say,stale,tip,pause,zone] = ['live','stale','tip','pause','zone'].map(id => $('#'+id))
let main = $('main'),shown = main.innerHTML,seen = Date.now(),fails = 0,tag = '""',timer,busy,off

// Times in the visitor's zone. The title keeps the time in the dashboard's zone.
const word = (e,text) => write(e,e.dataset.text+' '+text)
const date = intl({dateStyle: 'long'},'UTC')
const time = intl({year: 'numeric',month: 'short',day: 'numeric',hour: '2-digit',minute: '2-digit',hourCycle: 'h23',timeZoneName: 'short'})
const local = e => $$('.range,time[datetime*=T]',e).forEach(t => {
  const [from,to] = $$('time',t).map(x => new Date(x.dateTime))
  t.title = t.textContent
  write(t,to ? time.formatRange(from,to) : time.format(new Date(t.dateTime)))
})

// A bar is one tab stop. Arrow keys and the pointer select a day.
const hide = () => { write(tip,''); $('.at')?.remove() }
const within = (low,x,top) => Math.max(low,Math.min(x,top))
const bars = () => $$('.bar',main).forEach(bar => {
  const {n,from,today} = bar.dataset,links = {},last = n-1,box = () => bar.getBoundingClientRect()
  let day = last
  $$('a',bar).forEach(a => {
    links[$('rect',a).getAttribute('x')/4] = a
    a.tabIndex = -1
    a.ariaLabel = a.textContent
    $('title',a).remove()
  })
  const show = at => {
    hide()
    day = within(0,at,last)
    const {left,width,bottom} = box(),{style,dataset} = tip
    bar.insertAdjacentHTML('beforeend',`<rect class="at" x="${day*4}" width="3" height="36"/>`)
    write(tip,links[day]?.ariaLabel || date.format(Date.parse(today) - (last-day)*864e5)+dataset.colon+(day < from ? dataset.before : dataset.none))
    style.left = scrollX+within(16,left+(day+.5)/n*width-tip.offsetWidth/2,root.clientWidth-tip.offsetWidth-16)+'px'
    style.top = scrollY+bottom+'px'
  }
  bar.tabIndex = 0
  bar.onkeydown = e => {
    const to = {ArrowLeft: day-1,ArrowRight: day+1,Home: 0,End: last}[e.key]
    if (to != null) show(to),e.preventDefault()
    if (e.key == 'Enter' && links[day]) location = links[day].href.baseVal
  }
  bar.onfocus = () => show(day)
  bar.onblur = hide
  bar.onpointermove = e => show((e.clientX-box().x)/box().width*n|0)
  bar.onpointerleave = e => e.relatedTarget != tip && hide()
})
tip.onpointerleave = hide
// The handler must not return false: that would cancel every other key.
d.onkeydown = e => { if (e.key == 'Escape') hide() }

// A part that the visitor has opened or closed stays so: was is how the page has it.
$$('details').forEach(e => e.was = e.open)

// gist is what is announced when it changes. Percentages change each minute and are not part of it.
const gist = e => $$('.state,.pill,.rich,h3',e).map(x => x.textContent)+e.dataset.live
// key selects the element that has the focus in the next page.
const key = e => e.id ? '#'+e.id : e.localName == 'summary' ? key(e.parentNode)+'>summary' : `[href="${e.getAttribute('href')}"]`
function replace(page) {
  const next = $('main',page),html = next.innerHTML,at = $('.low time',page),icon = '[rel=icon]'
  $(icon).href = $(icon,page).href
  if (at) $('.low time').replaceWith(at),local(at.parentNode)
  if (html == shown) return
  const e = d.activeElement,focus = main.contains(e) && key(e),y = scrollY,told = gist(main)
  $$('details[id]',next).forEach(to => {
    const e = $('#'+to.id)
    to.was = to.open
    if (e && e.open != e.was) to.open = e.open
  })
  hide()
  main.replaceWith(next)
  main = next
  shown = html
  d.title = page.title
  local(main)
  bars()
  if (focus) $(focus,main)?.focus({preventScroll: true})
  scrollTo(0,y)
  if (told != gist(main)) word(say,main.dataset.live)
}

async function poll() {
  timer = clearTimeout(timer)
  if (busy || d.hidden || off) return
  let after = 0
  busy = 1
  try {
    const r = await fetch('',{cache: 'no-store',headers: {'If-None-Match': tag},signal: AbortSignal.timeout(15e3)})
    after = r.headers.get('Retry-After')*1e3
    if (r.ok) replace(new DOMParser().parseFromString(await r.text(),'text/html')),tag = r.headers.get('ETag')
    else if (r.status != 304) throw r
    fails = 0
    seen = Date.now()
    write(stale,'')
  } catch {
    fails++
    word(stale,new Intl.RelativeTimeFormat(lang).format(Math.floor((seen-Date.now())/6e4),'minute'))
  }
  busy = 0
  wait(after)
}
const wait = least => timer = setTimeout(poll,within(least,(2e4+Math.random()*2e4)*2 ** fails,3e5))

local(d)
bars()
if (zone) write(zone,zone.dataset.text.replace('{zone}',intl().resolvedOptions().timeZone))
if (main.dataset.live) {
  if (pause) pause.hidden = 0,pause.onclick = () => { pause.ariaPressed = off = !off; poll() }
  d.onvisibilitychange = () => timer || poll()
  wait(0)
}
})()
