/** How an import is going, and the rows that do not fit. */
import { type Duplicates, rejectedHeader, rejectedLine } from 'gatehouse-csv'
import { Button, bytes, count, ErrorNotice, Notice, Progress, Section, saveFile, Table } from '../../ui/index.ts'
import type { TableDetail } from './catalogue.ts'
import type { CsvSample, Misfit } from './csv-file.ts'
import type { Upload } from './csv-upload.ts'

/** What happens to a row whose key is taken. */
export const POLICIES: readonly { readonly value: Duplicates; readonly title: string }[] = [
  { value: 'reject', title: 'List it as rejected' },
  { value: 'skip', title: 'Skip it' },
  { value: 'replace', title: 'Replace the row in the table' },
]

export type ImportState =
  | { readonly kind: 'preview' }
  | { readonly kind: 'running' | 'done' | 'cancelled'; readonly upload: Upload }
  | { readonly kind: 'failed'; readonly upload: Upload; readonly error: unknown }

export interface FileProps {
  readonly table: TableDetail
  readonly file: File
  readonly sample: CsvSample
}

export function Outcome({
  table,
  file,
  sample,
  state,
  onCancel,
  onAgain,
}: FileProps & {
  readonly state: Exclude<ImportState, { kind: 'preview' }>
  readonly onCancel: () => void
  readonly onAgain: () => void
}) {
  const { inserted, replaced, skipped, rejected, read } = state.upload
  const saveRejected = () => {
    const { delimiter } = sample
    const header = rejectedHeader(sample.names, delimiter)
    const lines = rejected.map((row) => rejectedLine(row, delimiter))
    saveFile(new Blob([[header, ...lines, ''].join('\r\n')], { type: 'text/csv' }), `${file.name}.rejected.csv`)
  }
  return (
    <div class="row-form">
      {state.kind === 'running' && <Progress label={`Import into ${table.name}`} value={read} of={file.size} />}
      {state.kind === 'failed' && (
        <ErrorNotice error={state.error} title="The import stopped before the end of the file" />
      )}
      {state.kind === 'cancelled' && (
        <Notice kind="warning">The import was cancelled. Rows that were already inserted remain.</Notice>
      )}
      <p role="status">
        {inserted === 1 ? '1 row inserted,' : `${count(inserted)} rows inserted,`}{' '}
        {replaced > 0 && `${count(replaced)} replaced, `}
        {skipped > 0 && `${count(skipped)} skipped, `}
        {count(rejected.length)} rejected
        {state.kind === 'running' && `, ${bytes(read)} of ${bytes(file.size)} read`}
      </p>
      <div class="row">
        {state.kind === 'running' ? (
          <Button onClick={onCancel}>Cancel</Button>
        ) : (
          <Button onClick={onAgain}>Back to the preview</Button>
        )}
        {state.kind !== 'running' && rejected.length > 0 && (
          <Button icon="download" onClick={saveRejected}>
            Save the rejected rows
          </Button>
        )}
      </div>
      {rejected.length > 0 && <Misfits title="Rejected rows" of={rejected} />}
    </div>
  )
}

const MOST_SHOWN = 50

export function Misfits({ title, of }: { readonly title: string; readonly of: readonly Misfit[] }) {
  return (
    <Section title={title} about={of.length > MOST_SHOWN ? `The first ${MOST_SHOWN} are shown.` : undefined}>
      <Table
        label={title}
        rows={of.slice(0, MOST_SHOWN)}
        rowKey={({ line }) => line}
        columns={[
          { title: 'Line', kind: 'number', cell: ({ line }) => line },
          { title: 'Why', cell: ({ reason }) => reason },
          { title: 'Row', cell: ({ raw }) => <code class="import-raw">{raw.slice(0, 200)}</code>, wide: true },
        ]}
      />
    </Section>
  )
}
