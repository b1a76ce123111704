/** Downloads of a whole result, in the formats of the service. */
import { type Signal, signal } from '@preact/signals'
import { statement as toStatement } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { bytes, type FileFormat, readFile, saveFile } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Outcome } from './run.ts'

export interface Download {
  readonly title: string
  readonly bytes: number
  readonly cancel: () => void
}

/** The download in progress. */
export const download: Signal<Download | undefined> = signal(undefined)

/** Runs the statement again: the server writes the file, with all rows and exact values. */
export async function startDownload(
  { text, parameters }: Pick<Outcome, 'text' | 'parameters'>,
  { title, type, extension }: FileFormat,
  name: string,
): Promise<void> {
  download.value?.cancel()
  const abort = new AbortController()
  const show = (size: number) => {
    download.value = { title, bytes: size, cancel: () => abort.abort() }
  }
  show(0)
  try {
    const query = gate.query(toStatement(text, parameters as Readonly<Record<string, string>>), abort)
    const file = await readFile(await query.response(type), abort.signal, show)
    saveFile(file, `${fileName(name)}.${extension}`)
    toast(`${title} with ${bytes(file.size)} was downloaded`)
  } catch (error) {
    if (!abort.signal.aborted) toastError(error, 'The download failed')
  } finally {
    download.value = undefined
  }
}

function fileName(name: string): string {
  return (
    name
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '')
      .toLowerCase() || word('result')
  )
}
