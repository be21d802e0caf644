// A scenario in the fragment of an address: a preset and what was changed by controls, or the whole text, packed.

const LARGEST = 200_000;

function base64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function through(stream, bytes) {
  const blob = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(blob).arrayBuffer());
}

export function ofPreset(name, changes) {
  const pairs = [...changes].map(([key, value]) => "&" + encodeURIComponent(key) + "=" + encodeURIComponent(value));
  return "#" + name + pairs.join("").replaceAll("%5B", "[").replaceAll("%5D", "]");
}

export async function ofText(text) {
  return "#toml=" + base64(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text)));
}

// What a fragment asks for: { preset, changes }, { text }, or null where it is none of these.
export async function read(fragment) {
  const body = fragment.replace(/^#/, "");
  if (body.startsWith("toml=")) {
    try {
      const packed = Uint8Array.from(atob(body.slice(5).replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
      const bytes = await through(new DecompressionStream("deflate-raw"), packed);
      return bytes.length <= LARGEST ? { text: new TextDecoder().decode(bytes) } : null;
    } catch {
      return null;
    }
  }
  const [preset, ...pairs] = body.split("&");
  if (!preset) return null;
  try {
    const changes = pairs.map(pair => { const at = pair.indexOf("="); return [pair.slice(0, at), pair.slice(at + 1)].map(decodeURIComponent); });
    return { preset, changes: new Map(changes) };
  } catch {
    return null;
  }
}
