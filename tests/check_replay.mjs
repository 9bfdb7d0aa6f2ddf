// Opens what tests/check_replay.sh wrote in headless Chromium, uses it as a reader would, and leaves
// pictures: node tests/check_replay.mjs FOLDER   (CHROME: the browser; PLAYWRIGHT: where playwright-core is)
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(path.resolve(process.env.PLAYWRIGHT) + '/')('playwright-core');
const folder = path.resolve(process.argv[2]);
let checks = 0, failed = 0;
function check(fine, what) {
  checks++;
  if (fine) return;
  failed++;
  console.log('replay: ' + what);
}
const promised = name => Object.fromEntries(fs.readFileSync(path.join(folder, name + '.txt'), 'utf8').trim().split('\n')
  .map(l => [l.split(' ')[0], Number(l.split(' ')[1])]));

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// a browser with one page; noise: whatever it complains about or asks of the network
async function open(name, hash, options, prepare) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'replay-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROME, headless: true, args: flags, ...options });
  const page = await context.newPage();
  const noise = [];
  page.on('console', m => { if (['error', 'warning'].includes(m.type()) && !/GPU stall|software WebGL/i.test(m.text())) noise.push(m.text()); });
  page.on('pageerror', e => noise.push(e.message));
  page.on('request', r => { if (!/^(file|data|blob):/.test(r.url())) noise.push('asks for ' + r.url()); });
  if (prepare) await page.addInitScript(prepare);
  await page.goto(pathToFileURL(path.join(folder, name + '.html')) + hash);
  await page.waitForFunction(() => window.replay);
  await page.waitForTimeout(300);
  return { page, noise, close: async what => {
    check(noise.length === 0, what + ': ' + noise.slice(0, 3).join('; '));
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true });
  } };
}
const shot = (page, name) => page.screenshot({ path: path.join(folder, name + '.png') });
const at = page => page.evaluate(() => replay.state.at);
// how many colours the 3-D view has, and how much of it is not the most frequent one
const look = page => page.evaluate(() => {
  const p = replay.pixels(), n = new Map();
  let most = 0;
  for (let i = 0; i < p.data.length; i += 4) {
    const k = p.data[i] >> 3 << 10 | p.data[i + 1] >> 3 << 5 | p.data[i + 2] >> 3;
    n.set(k, (n.get(k) || 0) + 1);
    most = Math.max(most, n.get(k));
  }
  return { colours: n.size, share: 1 - 4 * most / p.data.length, sum: p.data.reduce((a, b) => (a * 31 + b) % 4294967291, 7) };
});
const desktop = { viewport: { width: 1280, height: 860 }, colorScheme: 'light' };
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true, colorScheme: 'light' };

// ---- a desktop
{
  const { page, close } = await open('double', '#t=0.9', desktop);
  const said = promised('double');
  check(await page.title() === 'A heap <of> "boxes", balls & capsules', 'the title is ' + await page.title());
  check(await page.textContent('h1') === await page.title(), 'the heading is not the title');
  check(await page.evaluate(() => replay.works()), 'no WebGL');
  check(await page.evaluate(() => replay.frames) === said.frames, 'not all frames are there');
  check(Math.abs(await at(page) - 54) < 0.01 && !await page.evaluate(() => replay.state.playing), '#t= does not wait there');
  const picture = await look(page);
  check(picture.colours > 100 && picture.share > 0.3, 'the view is nearly blank: ' + JSON.stringify(picture));
  await shot(page, 'desktop-early');

  // the end: what the program said of it
  await page.keyboard.press('End');
  await page.waitForTimeout(200);
  check(await at(page) === said.frames - 1, 'End does not go to the end');
  check(Number(await page.textContent('#h-con')) === said.contacts, 'contacts are not as recorded');
  check(Number(await page.textContent('#h-slip')) === said.slips, 'slipping contacts are not as recorded');
  const z = await page.evaluate(() => replay.pose(2, replay.frames - 1).p[2]);
  check(Math.abs(z - said.z) < 1e-3, `a body is at ${z}, and not at ${said.z}`);
  const last = await look(page);
  check(last.sum !== picture.sum, 'the picture does not change with time');
  await shot(page, 'desktop-end');

  // keys
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  check(await at(page) === 1, 'arrow keys do not step');
  await page.keyboard.press('Shift+ArrowRight');
  check(await at(page) === 11, 'Shift does not step by ten');
  await page.keyboard.press('+');
  check(await page.evaluate(() => replay.state.speed) === 2, '+ is not faster');
  await page.keyboard.press('-');
  await page.keyboard.press('-');
  check(await page.evaluate(() => replay.state.speed) === 0.5 && await page.inputValue('#speed') === '2', '- is not slower');
  await page.keyboard.press('+');
  await page.keyboard.press('f');
  check(await page.getAttribute('#forces', 'aria-pressed') === 'false' && await page.isHidden('#key'), 'f does not hide forces');
  await page.keyboard.press('f');
  await page.keyboard.press('h');
  check(await page.isVisible('#about'), 'h shows no help');
  await shot(page, 'desktop-help');
  await page.keyboard.press('Escape');
  check(await page.isHidden('#about'), 'Escape does not close the help');

  // playing, at the speed of time
  await page.keyboard.press('Home');
  await page.keyboard.press(' ');
  // by the clock of the frames themselves: in software they may be slow
  const rate = await page.evaluate(() => new Promise(done => {
    let from = null;
    requestAnimationFrame(function look(now) {
      if (!from) from = [now, replay.state.at];
      if (now - from[0] > 1200) done((replay.state.at - from[1]) / 60 / (now - from[0]) * 1000);
      else requestAnimationFrame(look);
    });
  }));
  check(rate > 0.8 && rate < 1.2, 'plays at ' + rate.toFixed(2) + ' of the speed of time');
  await page.keyboard.press(' ');
  const held = await at(page);
  await page.waitForTimeout(250);
  check(await at(page) === held, 'space does not pause');
  await page.click('#play');
  await page.waitForTimeout(300);
  check(await at(page) > held, 'the button does not play');
  await page.keyboard.press('End');
  await page.click('#play'); // at the end: from the start, around and around
  await page.evaluate(() => { replay.seek(replay.frames - 10); });
  await page.waitForTimeout(900);
  check(await at(page) < 200 && await page.evaluate(() => replay.state.playing), 'does not loop');
  await page.keyboard.press('l');
  await page.evaluate(() => { replay.seek(replay.frames - 5); });
  await page.waitForTimeout(700);
  check(await at(page) === said.frames - 1 && !await page.evaluate(() => replay.state.playing), 'loops when it should not');

  // the slider, and the plots
  const slider = await page.locator('#scrub').boundingBox();
  await page.mouse.click(slider.x + slider.width / 2, slider.y + slider.height / 2);
  await page.waitForTimeout(100);
  check(Math.abs(await at(page) - 120) < 6, 'the slider does not scrub: ' + await at(page));
  check(/seconds/.test(await page.getAttribute('#scrub', 'aria-valuetext')), 'the slider does not say the time');
  const plot = await page.locator('#p2').boundingBox();
  await page.mouse.move(plot.x + 0.3 * plot.width, plot.y + 40);
  await page.waitForTimeout(100);
  check(/at .* s/.test(await page.textContent('#l2')) && !/NaN/.test(await page.textContent('#plots')), 'no values under the pointer');
  await shot(page, 'desktop-hover');
  await page.mouse.click(plot.x + 0.75 * plot.width, plot.y + 40);
  await page.waitForTimeout(100);
  check(await at(page) > 150, 'a click on a plot does not go there');

  // looking around
  const view = await page.locator('#gl').boundingBox();
  const before = await page.evaluate(() => ({ ...replay.camera }));
  await page.mouse.move(view.x + 300, view.y + 300);
  await page.mouse.down();
  await page.mouse.move(view.x + 420, view.y + 340, { steps: 4 });
  await page.mouse.up();
  await page.mouse.wheel(0, -200);
  await page.waitForTimeout(150);
  const after = await page.evaluate(() => ({ ...replay.camera }));
  check(after.yaw !== before.yaw && after.pitch > before.pitch, 'dragging does not orbit');
  check(after.dist < before.dist, 'the wheel does not zoom');
  await page.keyboard.press('r');
  check(Math.abs(await page.evaluate(() => replay.camera.yaw) - before.yaw) < 1e-9, 'r does not reset the view');
  await page.mouse.move(view.x + 300, view.y + 300);
  await page.mouse.down({ button: 'right' });
  await page.mouse.move(view.x + 400, view.y + 300, { steps: 4 });
  await page.mouse.up({ button: 'right' });
  check(await page.evaluate(t => Math.hypot(...replay.camera.target.map((x, i) => x - t[i])), before.target) > 0.1, 'the right button does not pan');
  await page.keyboard.press('r');

  // following: a pixel where there is a body
  await page.evaluate(() => replay.seek(40));
  const hit = await page.evaluate(() => {
    for (let y = 10; y < 500; y += 7) for (let x = 10; x < 1200; x += 7) if (replay.pick(x, y) > 3) return [x + 3, y + 3];
    return null;
  });
  check(hit, 'no body anywhere');
  if (hit) {
    await page.mouse.click(view.x + hit[0], view.y + hit[1]);
    await page.waitForTimeout(1200);
    check(await page.isVisible('#follow') && /body \d+/.test(await page.textContent('#follow')), 'a click does not follow');
    const off = await page.evaluate(() => Math.hypot(...replay.pose(replay.state.track, replay.state.at).p.map((x, i) => x - replay.camera.target[i])));
    check(off < 0.05, 'the camera is ' + off + ' m from the body it follows');
    await page.mouse.move(view.x + 500, view.y + 300);
    await page.mouse.wheel(0, -400);
    await page.evaluate(() => replay.seek(230));
    await page.waitForTimeout(1200);
    await shot(page, 'desktop-follow');
    await page.click('#unfollow');
    check(await page.isHidden('#follow'), 'it cannot be left again');
  }
  await close('desktop');
}

// ---- a phone
for (const scheme of ['light', 'dark']) {
  const { page, close } = await open('float', '#t=1.2', { ...phone, colorScheme: scheme });
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth, document.documentElement.scrollHeight, innerHeight]);
  check(wide[0] <= wide[1] && wide[2] <= wide[3], 'the page is larger than the screen: ' + wide);
  const small = await page.evaluate(() => [...document.querySelectorAll('#bar button, #corner button')].filter(b => { if (!b.offsetParent) return false; const r = b.getBoundingClientRect(); return r.width < 36 || r.height < 36 || r.right > innerWidth; }).map(b => b.id));
  check(small.length === 0, 'buttons too small or out of sight: ' + small);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll('button, input, select, canvas')].filter(b => !(b.getAttribute('aria-label') || b.textContent.trim())).length);
  check(unnamed === 0, unnamed + ' controls without a name');
  check((await look(page)).colours > 100, 'the view is nearly blank on a phone');
  await shot(page, 'phone-' + scheme);
  if (scheme === 'light') {
    const touch = await page.context().newCDPSession(page);
    const send = (type, points) => touch.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
    const was = await page.evaluate(() => ({ ...replay.camera }));
    await send('touchStart', [[150, 250]]);
    for (let i = 1; i <= 5; i++) await send('touchMove', [[150 + 15 * i, 250]]);
    await send('touchEnd', []);
    const turned = await page.evaluate(() => ({ ...replay.camera }));
    check(turned.yaw !== was.yaw, 'one finger does not orbit');
    await send('touchStart', [[150, 250], [250, 250]]);
    for (let i = 1; i <= 5; i++) await send('touchMove', [[150 - 10 * i, 250], [250 + 10 * i, 250]]);
    await send('touchEnd', []);
    check(await page.evaluate(() => replay.camera.dist) < 0.7 * turned.dist, 'two fingers do not zoom');
    await page.tap('#play');
    await page.waitForTimeout(400);
    check(await at(page) > 72, 'a tap does not play');
    await page.setViewportSize({ width: 844, height: 390 });
    await page.waitForTimeout(300);
    await page.tap('#play');
    await shot(page, 'phone-wide');
  }
  await close('phone, ' + scheme);
}

// ---- dark; every third step; WebGL 1; no WebGL; many bodies
{
  const { page, close } = await open('double', '#t=1.6', { ...desktop, colorScheme: 'dark' });
  await shot(page, 'desktop-dark');
  await close('dark');
}
{
  const { page, close } = await open('every', '#t=2', desktop);
  check(await page.evaluate(() => replay.frames) === 81 && Math.abs(await at(page) - 40) < 1e-6, 'every third step is not a frame');
  await close('every third step');
}
{
  const { page, close } = await open('double', '#t=1.6', desktop, () => {
    const real = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) { return kind === 'webgl2' ? null : real.call(this, kind, ...rest); };
  });
  check(await page.evaluate(() => replay.works()) && (await look(page)).colours > 100, 'WebGL 1 does not do');
  await shot(page, 'webgl1');
  await close('WebGL 1');
}
{
  const { page, close } = await open('double', '#t=1.6', desktop, () => {
    const real = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) { return /webgl/.test(kind) ? null : real.call(this, kind, ...rest); };
  });
  check(await page.isVisible('#message') && /WebGL/.test(await page.textContent('#message')), 'does not say that WebGL is missing');
  await page.keyboard.press('ArrowRight');
  check(await at(page) === 97, 'without WebGL time cannot be moved');
  await shot(page, 'no-webgl');
  await close('no WebGL');
}
{
  const { page, close } = await open('large', '#t=10', desktop);
  await shot(page, 'large');
  const ms = await page.evaluate(() => { const t = performance.now(); replay.pixels(); return performance.now() - t; });
  console.log(`replay: a frame of 100 bodies takes ${ms.toFixed(0)} ms here`);
  await close('100 bodies');
}

console.log(`replay: ${checks - failed} of ${checks} checks in a browser passed; look at ${path.relative('.', folder)}/*.png`);
process.exit(failed ? 1 : 0);
