/** The export of a table as CSV, NDJSON, Arrow or Parquet, with its progress, and a way to cancel it. */
import { useRef, useState } from 'preact/hooks'
import { name as quoteName } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Button,
  bytes,
  FILE_FORMATS,
  type FileFormat,
  Icon,
  Menu,
  readFile,
  Spinner,
  saveFile,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { TableDetail } from './catalogue.ts'

export function ExportMenu({ table }: { readonly table: TableDetail }) {
  const [size, setSize] = useState<number>()
  const abort = useRef<AbortController>(null)
  const save = async ({ type, extension }: FileFormat) => {
    const controller = new AbortController()
    abort.current = controller
    setSize(0)
    try {
      const response = await gate.query`select * from ${quoteName(table.name)}`.response(type, controller)
      const file = await readFile(response, controller.signal, setSize)
      saveFile(file, `${table.name}.${extension}`)
      toast(word(`Exported ${table.name}: ${bytes(file.size)}`), { kind: 'good' })
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
      items={FILE_FORMATS.map((format) => ({ title: format.title, icon: 'download', act: () => void save(format) }))}
    >
      <Icon name="download" />
      Export
      <Icon name="down" class="menu-arrow" />
    </Menu>
  )
}
