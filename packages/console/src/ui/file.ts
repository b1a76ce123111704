/** Files that the browser saves: results in the formats of the query service. */

export const FILE_FORMATS = [
  { title: 'CSV', type: 'text/csv', extension: 'csv' },
  { title: 'NDJSON', type: 'application/x-ndjson', extension: 'ndjson' },
  { title: 'Arrow', type: 'application/vnd.apache.arrow.stream', extension: 'arrows' },
  { title: 'Parquet', type: 'application/vnd.apache.parquet', extension: 'parquet' },
] as const

export type FileFormat = (typeof FILE_FORMATS)[number]

/** Reads a reply in pieces, which the browser may keep on disk. `onSize` is called with the bytes so far. */
export async function readFile(response: Response, signal: AbortSignal, onSize: (size: number) => void): Promise<Blob> {
  const reader = response.body?.getReader()
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let [size, last] = [0, '']
  const decoder = new TextDecoder()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    pieces.push(value)
    size += value.length
    last = (last + decoder.decode(value.subarray(-4096))).slice(-4096)
    onSize(size)
  }
  signal.throwIfAborted()
  const type = response.headers.get('content-type') ?? ''
  // A reply that fails after its first rows says so in its last line.
  if (type.includes('ndjson') && /\{"Error":/.test(last.trimEnd().split('\n').at(-1) ?? ''))
    throw new Error('The result ended with an error')
  return new Blob(pieces, { type })
}

export function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
