(function (settings) {
'use strict';
var own = function (object, key) { return Object.prototype.hasOwnProperty.call(object, key); };
var key = 'status-banner ' + settings.page, memory, banner, shown, timer, busy, failures = 0;
function closed(message) {
if (message !== undefined) memory = message;
try {
if (message !== undefined) sessionStorage.setItem(key, message);
return sessionStorage.getItem(key);
} catch (refused) {
return memory;
}
}
function element(name, parent, style, text) {
var made = document.createElement(name);
made.style.cssText = 'all:initial;font:inherit;color:inherit;' + style; // allowed by style-src, unlike an attribute
if (text) made.textContent = text;
if (parent) parent.appendChild(made);
return made;
}
function remove() {
if (banner) banner.remove();
banner = shown = null;
}
function show(status) {
var message = String(status.description);
if (!own(settings.colors, status.indicator)) { closed(''); return remove(); }
if (closed() === message) return remove();
if (shown === message) return;
remove();
shown = message;
banner = element('section', null, 'display:flex;gap:12px;align-items:center;box-sizing:border-box;position:fixed;z-index:2147483000;' +
'left:16px;right:16px;bottom:16px;max-width:480px;margin:0 auto;padding:8px 8px 8px 16px;border-radius:8px;border:1px solid #fff;' +
'font:14px/1.4 system-ui,sans-serif;color:#fff;background:' + settings.colors[status.indicator]);
banner.lang = settings.lang;
banner.setAttribute('aria-label', settings.name);
var text = element('p', banner, 'flex:1;min-width:0;overflow-wrap:anywhere');
text.setAttribute('role', 'status');
element('bdi', text, 'font-weight:600', settings.name);
element('span', text, '', settings.colon + (own(settings.words, message) ? settings.words[message] : message) + ' ');
var link = element('a', text, 'text-decoration:underline;cursor:pointer', settings.details);
link.href = settings.page;
link.rel = 'noopener';
var close = element('button', banner, 'cursor:pointer;min-width:32px;min-height:32px;text-align:center;font-size:20px', '\u00d7');
close.type = 'button';
close.setAttribute('aria-label', settings.close);
close.addEventListener('click', function () { closed(message); remove(); });
[link, close].forEach(function (part) {
part.addEventListener('focus', function () { part.style.outline = '2px solid #fff'; });
part.addEventListener('blur', function () { part.style.outline = ''; });
});
document.body.appendChild(banner);
}
function later() {
clearTimeout(timer);
timer = setTimeout(check, Math.min(60000 * Math.pow(2, failures), 600000) * (0.75 + Math.random() / 2));
}
function check() {
if (busy || document.hidden) return;
busy = true;
fetch(settings.status, { credentials: 'omit', referrerPolicy: 'no-referrer' })
.then(function (response) { return response.json(); })
.then(function (body) { failures = 0; show(body.status); })
.catch(function () { failures++; })
.then(function () { busy = false; later(); });
}
document.addEventListener('visibilitychange', check);
if (document.body) check(); else document.addEventListener('DOMContentLoaded', check);
})({"name":"Acme \u0026 Söhne","page":"https://status.example.com/","status":"https://status.example.com/api/v2/status.json","lang":"en","colon":": ","close":"Close","details":"Details","words":{"Major System Outage":"Major outage","Minor Service Outage":"Incident","Partial System Outage":"Partial outage","Partially Degraded Service":"Degraded performance","Service Under Maintenance":"Under maintenance"},"colors":{"critical":"#b3202c","maintenance":"#2b5fb3","major":"#b04a00","minor":"#8a6100"}});
