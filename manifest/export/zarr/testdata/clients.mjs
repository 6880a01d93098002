// Reads arrays with zarrita: node clients.mjs STORES.json FIRST. See clients.py for the output. It only compares numbers,
// booleans and texts; the modules are in the folder that VARVE_ZARRITA names.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.VARVE_ZARRITA;
const require = createRequire(path.join(modules, "package.json"));
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const at = (name) => JSON.parse(fs.readFileSync(path.join(modules, "node_modules", name, "package.json")));
const zarr = await import(pathToFileURL(path.join(modules, "node_modules/zarrita/dist/src/index.js")));
const { default: FileSystemStore } = await import(pathToFileURL(path.join(modules, "node_modules/@zarrita/storage/dist/src/fs.js")));

const stores = JSON.parse(fs.readFileSync(process.argv[2]));
const kinds = {
  "<f8": Float64Array, "<f4": Float32Array, "<i1": Int8Array, "<u1": Uint8Array, "<i2": Int16Array, "<u2": Uint16Array,
  "<i4": Int32Array, "<u4": Uint32Array, "<i8": BigInt64Array, "<u8": BigUint64Array, "?": Uint8Array,
};
console.log("version", at("zarrita").version);
for (let number = Number(process.argv[3]); number < stores.length; number++) {
  const store = stores[number];
  try {
    let want;
    if (store.dtype === "text") {
      want = JSON.parse(fs.readFileSync(store.values));
    } else if (kinds[store.dtype]) {
      const bytes = fs.readFileSync(store.values);
      want = [...new kinds[store.dtype](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))];
      if (store.dtype === "?") want = want.map(Boolean);
    }
    const location = zarr.root(new FileSystemStore(path.join(store.group, "a")));
    const array = store.format === 3 ? await zarr.open.v3(location, { kind: "array" }) : await zarr.open.v2(location, { kind: "array" });
    const chunk = await zarr.get(array);
    const got = []; // in row-major order
    for (let row = 0; row < chunk.shape[0]; row++)
      for (let column = 0; column < chunk.shape[1]; column++) {
        const at = row * chunk.stride[0] + column * chunk.stride[1];
        got.push(chunk.data.get ? chunk.data.get(at) : chunk.data[at]);
      }
    if (!want) console.log(number, "untested", "this script has no type of JavaScript for " + store.dtype);
    else console.log(number, got.length === want.length && got.every((v, i) => v === want[i]) ? "reads" : "wrong", String(got).slice(0, 300));
  } catch (problem) {
    console.log(number, "refuses", String(problem).replaceAll("\n", " ").slice(0, 300));
  }
}
