// Python in a worker: loads it, then runs one cell after another in one interpreter.
//
// From the page: {start: {base, page, files}}, then {run: source, name}, or {warm: modules}, which are
// imported before they are asked for, or {quit}. The page ends it, in the middle of a cell too.
// To the page: {loaded, total}, {ready, seconds}, what tools/in_browser/page_kernel.py sends, {done}.

import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI } from "./python/wasi/index.js";

const STORE = "ismlit-python"; // in the browser's Cache Storage, a version of each file
const ZIP = "python315.zip";
const MARK = "\x1e";
const text = new TextEncoder();
const quitting = new AbortController();
let exports;

const say = message => self.postMessage(message);

// ---------------------------------------------------------------- files, with their progress

let loaded = 0;
let fromNetwork = 0;
let said = 0;

// Counts what passes; `whole` gets all of it in the end.
function counted(total, whole = () => {}) {
  const chunks = [];
  return new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.length;
      chunks.push(chunk);
      if (performance.now() - said > 100 || loaded === total) {
        said = performance.now();
        say({ kind: "loaded", loaded, total });
      }
      controller.enqueue(chunk);
    },
    flush: () => whole(new Blob(chunks)),
  });
}

// The file as it was before it was compressed; some servers decompress a .gz on the way.
async function expanded(stream) {
  const reader = stream.getReader();
  const first = await reader.read();
  const whole = new ReadableStream({
    start(controller) {
      if (first.value) controller.enqueue(first.value);
      if (first.done) controller.close();
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: reason => reader.cancel(reason),
  });
  const isGzip = first.value?.[0] === 0x1f && first.value?.[1] === 0x8b;
  return isGzip ? whole.pipeThrough(new DecompressionStream("gzip")) : whole;
}

async function store() {
  try {
    return await caches.open(STORE);
  } catch {
    return null; // a private window, or no https: then each visit loads anew
  }
}

const addressOf = (file, base) => new URL(`${file.file}?v=${file.hash}`, base).href;

// Kept is what came as a whole; what is kept is looked at before it is believed.
async function load(file, base, total) {
  const address = addressOf(file, base);
  const isWhole = blob => [file.bytes, file.raw].includes(blob.size);
  const kept = await store();
  const found = await (await kept?.match(address))?.blob();
  if (found && isWhole(found)) return expanded(found.stream().pipeThrough(counted(total)));
  const response = await fetch(address, { cache: "no-store", signal: quitting.signal });
  if (!response.ok) throw new Error(`${address} answers ${response.status}`);
  fromNetwork += file.bytes;
  const keep = async blob => {
    if (!kept || !isWhole(blob)) return;
    try {
      for (const old of await kept.keys())
        if (new URL(old.url).pathname === new URL(address).pathname) await kept.delete(old);
      await kept.put(address, new Response(blob));
    } catch {
      // no room: it is loaded again next time
    }
  };
  return expanded(response.body.pipeThrough(counted(total, blob => void keep(blob))));
}

const bytes = async stream => new Uint8Array(await new Response(stream).arrayBuffer());

function module(stream) {
  const headers = { "Content-Type": "application/wasm" };
  return WebAssembly.compileStreaming(new Response(stream, { headers }));
}

// ---------------------------------------------------------------- a file system

// {path: bytes} as folders: `put(root, "a/b.txt", bytes)`.
function put(folder, path, data) {
  const parts = path.split("/");
  const name = parts.pop();
  for (const part of parts) {
    if (!folder.contents.has(part)) folder.contents.set(part, new Directory(new Map()));
    folder = folder.contents.get(part);
  }
  folder.contents.set(name, fixed(data));
}

function fixed(data) {
  const file = new File([], { readonly: true });
  file.data = data; // not copied
  return file;
}

function unpack(data, root) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const length = view.getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  for (const [path, [at, size]] of Object.entries(index))
    put(root, path, data.subarray(4 + length + at, 4 + length + at + size));
}

// A folder that says it may be written to; Python's libraries ask.
class Folder extends PreopenDirectory {
  fd_fdstat_get() {
    const found = super.fd_fdstat_get();
    found.fdstat.fs_rights_base = found.fdstat.fs_rights_inherited = (1n << 30n) - 1n;
    return found;
  }
}

// ---------------------------------------------------------------- Python

// The shim reads the flags of a clock's subscription at byte 36, where they stand at byte 40, and so
// takes the moment at which a sleep ends for its length.
function mendSleep(calls) {
  const poll = calls.poll_oneoff;
  calls.poll_oneoff = (subscription, ...rest) => {
    const view = new DataView(exports.memory.buffer);
    view.setUint16(subscription + 36, view.getUint16(subscription + 40, true), true);
    return poll(subscription, ...rest);
  };
  return calls;
}

const scratch = new Map([["matplotlib", new Directory(new Map())]]); // what is in /tmp

function receive(line) {
  if (!line.startsWith(MARK)) return say({ kind: "stream", name: "stdout", text: `${line}\n` });
  const message = JSON.parse(line.slice(1));
  if (message.kind === "fetch") bring(message.url);
  else say(message);
}

// A file for a cell, which waits for it: public data, or a package that travels apart.
function bring(address) {
  say({ kind: "fetching", address });
  const request = new XMLHttpRequest();
  try {
    request.open("GET", address, false);
    request.responseType = "arraybuffer";
    request.send();
    if (request.status === 200) scratch.set("fetched", fixed(new Uint8Array(request.response)));
  } catch {
    // no network; Python sees that nothing came
  }
}

function turn(source) {
  const data = text.encode(source);
  const pointer = exports.host_alloc(data.length);
  new Uint8Array(exports.memory.buffer, pointer, data.length).set(data);
  return exports.turn(pointer, data.length);
}

const library = new Map(); // what is in /usr/local/lib

async function initialise(found) {
  const packed = new Directory(new Map());
  unpack(found.files, packed);
  library.set(ZIP, fixed(found.library));
  const nothing = new OpenFile(new File([]));
  const out = ConsoleStdout.lineBuffered(receive);
  const errors = ConsoleStdout.lineBuffered(line =>
    say({ kind: "stream", name: "stderr", text: `${line}\n` }),
  );
  const folders = [
    new Folder("/tmp", scratch),
    new Folder("/usr/local/lib", library),
    new Folder(`/usr/local/lib/${ZIP}/matplotlib/mpl-data`, packed.contents.get("mpl-data").contents),
    new Folder("/usr/lib/ismlit", packed.contents.get("site").contents),
  ];
  const environment = ["HOME=/tmp", "TMPDIR=/tmp", "MPLCONFIGDIR=/tmp/matplotlib", "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONTZPATH=", "OMP_NUM_THREADS=1"];
  const wasi = new WASI(["python"], environment, [nothing, out, errors, ...folders], {
    debug: false,
  });
  const instance = await WebAssembly.instantiate(found.python, {
    wasi_snapshot_preview1: mendSleep(wasi.wasiImport),
    host: { call: () => -1 },
  });
  exports = instance.exports;
  wasi.initialize(instance);
}

async function start({ base, page: name, files }) {
  const began = performance.now();
  const first = files.filter(file => !file.apart);
  const total = first.reduce((sum, file) => sum + file.bytes, 0);
  const kinds = { python: module };
  const loads = first.map(async file => {
    const stream = await load(file, base, total);
    return [file.part, await (kinds[file.part] ?? bytes)(stream)];
  });
  const found = Object.fromEntries(await Promise.all(loads));
  say({ kind: "starting", fromNetwork });

  await initialise(found);
  const apart = files.flatMap(file => (file.apart ?? []).map(name => [name, addressOf(file, base)]));
  const begin = `page_kernel.start(${JSON.stringify(name)}, dict(${JSON.stringify(apart)}))`;
  const failed = turn(`import sys; sys.path.append("/usr/lib/ismlit"); import page_kernel; ${begin}\n`);
  if (failed) throw new Error("Python did not start");
  say({ kind: "ready", seconds: (performance.now() - began) / 1000, fromNetwork });
}

// ---------------------------------------------------------------- the page

const kernel = call => turn(`__import__("page_kernel").${call}\n`);

async function answer({ start: wanted, warm, run, name, quit }) {
  if (quit) return self.close();
  if (quitting.signal.aborted) return;
  try {
    if (wanted) await start(wanted);
    else if (warm) kernel(`warm(${JSON.stringify(warm)})`);
    else {
      const began = performance.now();
      kernel(`run(${JSON.stringify(run)}, ${JSON.stringify(name)})`);
      say({ kind: "done", seconds: (performance.now() - began) / 1000 });
    }
  } catch (error) {
    say({ kind: "broken", text: String(error?.message ?? error) });
  }
}

let last = Promise.resolve(); // what is asked is done one after another
self.onmessage = ({ data }) => {
  if (data.quit) quitting.abort();
  last = last.then(() => answer(data));
};
