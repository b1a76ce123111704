/** JSON on one line: values stand out from the names of members. */

/** A name with its colon, another string, or a number or word. A string that was cut ends with the text. */
const PIECE = /"(?:[^"\\]|\\.)*"\s*:|"(?:[^"\\]|\\.)*"?|[^\s"{}[\],:]+/g

export function JsonLine({ text }: { readonly text: string }) {
  const shown: preact.ComponentChildren[] = []
  let end = 0
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    if (piece.endsWith(':') && piece.startsWith('"')) continue
    shown.push(text.slice(end, index), <b key={index}>{piece}</b>)
    end = index + piece.length
  }
  shown.push(text.slice(end))
  return <>{shown}</>
}
