/** Downloads of a whole result, in the formats of the service. */
import { type Signal, signal } from '@preact/signals'
import { statement as statementOf } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { bytes } from '../../ui/index.ts'
import type { Outcome } from './run.ts'

export const FORMATS = [
  { title: 'CSV', accept: 'text/csv', extension: 'csv' },
  { title: 'NDJSON', accept: 'application/x-ndjson', extension: 'ndjson' },
  { title: 'Arrow', accept: 'application/vnd.apache.arrow.stream', extension: 'arrows' },
] as const

export interface Download {
  readonly title: string
  readonly bytes: number
  readonly cancel: () => void
}

/** The one that is under way. */
export const download: Signal<Download | undefined> = signal(undefined)

/** Runs the statement again: the server writes the file, with all rows and exact values. */
export async function startDownload(
  { text, parameters }: Pick<Outcome, 'text' | 'parameters'>,
  { title, accept, extension }: (typeof FORMATS)[number],
  name: string,
): Promise<void> {
  download.value?.cancel()
  const abort = new AbortController()
  const show = (size: number) => {
    download.value = { title, bytes: size, cancel: () => abort.abort() }
  }
  show(0)
  try {
    const query = gate.query(statementOf(text, parameters as Readonly<Record<string, string>>), {
      signal: abort.signal,
    })
    const chunks: BlobPart[] = []
    let size = 0
    const response = await query.response(accept)
    const reader = response.body?.getReader()
    for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
      chunks.push(next.value)
      size += next.value.length
      show(size)
    }
    saveAs(new Blob(chunks, { type: accept }), `${fileName(name)}.${extension}`)
    toast(`${title} with ${bytes(size)} was downloaded`)
  } catch (error) {
    if (!abort.signal.aborted) toastError(error, 'The download failed')
  } finally {
    download.value = undefined
  }
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

function fileName(name: string): string {
  return (
    name
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '')
      .toLowerCase() || 'result'
  )
}
