/** The export of a table as CSV, NDJSON or Arrow, with its progress, and a way to cancel it. */
import { useRef, useState } from 'preact/hooks'
import { name as nameOf } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Button, bytes, Icon, Menu, Spinner } from '../../ui/index.ts'
import type { TableDetail } from './catalogue.ts'
import { saveFile } from './save-file.ts'

const FORMATS = [
  { title: 'CSV', type: 'text/csv', extension: 'csv' },
  { title: 'NDJSON', type: 'application/x-ndjson', extension: 'ndjson' },
  { title: 'Arrow', type: 'application/vnd.apache.arrow.stream', extension: 'arrows' },
] as const

export function ExportMenu({ table }: { readonly table: TableDetail }) {
  const [size, setSize] = useState<number>()
  const abort = useRef<AbortController>(null)
  const save = async ({ type, extension }: (typeof FORMATS)[number]) => {
    const controller = new AbortController()
    abort.current = controller
    setSize(0)
    try {
      const response = await gate.query`select * from ${nameOf(table.name)}`.response(type, controller)
      const file = await collect(response, controller.signal, setSize)
      saveFile(file, `${table.name}.${extension}`)
      toast(`Exported ${table.name}: ${bytes(file.size)}`, { kind: 'good' })
    } catch (error) {
      if (controller.signal.aborted) toast('The export was cancelled')
      else toastError(error, 'The export failed')
    }
    setSize(undefined)
  }
  if (size !== undefined)
    return (
      <>
        <span class="quiet exported" role="status">
          <Spinner /> {bytes(size)}
        </span>
        <Button size="small" onClick={() => abort.current?.abort()}>
          Cancel
        </Button>
      </>
    )
  return (
    <Menu
      label="Export"
      class="button"
      items={FORMATS.map((format) => ({ title: format.title, icon: 'download', act: () => void save(format) }))}
    >
      <Icon name="download" />
      Export
      <Icon name="down" class="menu-arrow" />
    </Menu>
  )
}

/** In pieces, which the browser may keep on disk. */
async function collect(response: Response, signal: AbortSignal, onSize: (size: number) => void): Promise<Blob> {
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
    throw new Error('The server ended the result with an error')
  return new Blob(pieces, { type })
}
