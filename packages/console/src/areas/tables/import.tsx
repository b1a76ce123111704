/** The import of a CSV file into a table: preview, then rows in batches, with progress, and a way to cancel. */
import { signal } from '@preact/signals'
import { DATE_FORMATS, NUMBER_FORMATS, rejectedHeader, rejectedLine } from 'gatehouse-csv'
import { typeName } from 'gatehouse-iql'
import { useEffect, useRef, useState } from 'preact/hooks'
import { toast } from '../../shell/toasts.tsx'
import {
  Await,
  Button,
  bytes,
  count,
  ErrorNotice,
  Notice,
  Progress,
  Section,
  Select,
  saveFile,
  Table,
  useLoad,
} from '../../ui/index.ts'
import type { TableDetail } from './catalogue.ts'
import {
  type CsvSample,
  findFormat,
  formatsFor,
  guessColumns,
  type Misfit,
  matchColumns,
  misfitsOf,
  sampleFile,
  targetOf,
} from './csv-file.ts'
import { type Upload, uploadFile } from './csv-upload.ts'
import { FileDrop } from './drop.tsx'

/** The file from which a table was created, to be imported next. */
export const waitingFile = signal<File | undefined>(undefined)

export function Import({ table }: { readonly table: TableDetail }) {
  const file = waitingFile.value
  useEffect(() => {
    return () => {
      waitingFile.value = undefined
    }
  }, [])
  if (file === undefined)
    return (
      <FileDrop
        label={`Drop a CSV file here, whose first line names columns of ${table.name}`}
        onFile={(dropped) => {
          waitingFile.value = dropped
        }}
      />
    )
  return <Preview key={`${file.name} ${file.lastModified}`} table={table} file={file} />
}

const DELIMITERS = [
  { value: '', title: 'Detected' },
  { value: ',', title: 'Comma' },
  { value: ';', title: 'Semicolon' },
  { value: '\t', title: 'Tab' },
  { value: '|', title: 'Bar' },
]

function Preview({ table, file }: { readonly table: TableDetail; readonly file: File }) {
  const [delimiter, setDelimiter] = useState('')
  const sample = useLoad(() => sampleFile(file, delimiter === '' ? undefined : delimiter), [delimiter])
  return (
    <Section
      title={file.name}
      about={bytes(file.size)}
      actions={
        <Button
          size="small"
          onClick={() => {
            waitingFile.value = undefined
          }}
        >
          Another file
        </Button>
      }
    >
      <div class="import-delimiter">
        <Select label="Delimiter" value={delimiter} onValue={setDelimiter} choices={DELIMITERS} />
        {sample.data !== undefined && (
          <span class="quiet">
            {DELIMITERS.find(({ value }) => value === sample.data?.delimiter)?.title}: {sample.data.names.length}{' '}
            columns
          </span>
        )}
      </div>
      <Await of={sample} title="The file cannot be read">
        {(read) => <Mapping key={read.delimiter} table={table} file={file} sample={read} />}
      </Await>
    </Section>
  )
}

type State =
  | { readonly kind: 'preview' }
  | { readonly kind: 'running' | 'done' | 'cancelled'; readonly upload: Upload }
  | { readonly kind: 'failed'; readonly upload: Upload; readonly error: unknown }

interface FileProps {
  readonly table: TableDetail
  readonly file: File
  readonly sample: CsvSample
}

function Mapping(props: FileProps) {
  const { table, sample } = props
  const mapping = useMapping(table, sample)
  const { targets, twice, unsure, isReady } = mapping
  const { state, start, cancel, reset } = useImport(props, targets)
  if (state.kind !== 'preview') return <Outcome {...props} state={state} onCancel={cancel} onAgain={reset} />
  return (
    <div class="import-mapping">
      <ColumnTable table={table} sample={sample} mapping={mapping} />
      {twice !== undefined && <Notice kind="warning">Two columns of the file are mapped to {twice}.</Notice>}
      {unsure.length > 0 && (
        <Notice kind="warning">
          The values of {unsure.join(', ')} can be read in two ways: choose the format of the file.
        </Notice>
      )}
      {isReady && <Fit sample={sample} misfits={misfitsOf(sample, targets)} />}
      <div class="row">
        <Button kind="primary" icon="upload" disabled={!isReady} onClick={start}>
          Import into {table.name}
        </Button>
        <span class="quiet">Rows that do not fit are skipped and listed; the others are inserted.</span>
      </div>
    </div>
  )
}

type ColumnMapping = ReturnType<typeof useMapping>

/** The column of the table, and the format, that the user has chosen for each column of the file. */
function useMapping(table: TableDetail, sample: CsvSample) {
  const [chosen, setChosen] = useState(() => matchColumns(sample, table.columns))
  const [formats, setFormats] = useState<ReadonlyMap<number, string>>(new Map())
  const columnAt = (index: number) => table.columns.find(({ name }) => name === chosen[index])
  const formatAt = (index: number) => {
    const possible = formatsFor(sample, index, columnAt(index)?.type ?? '')
    const only = possible.length === 1 ? possible[0] : undefined
    return { possible, format: findFormat(formats.get(index) ?? '') ?? only }
  }
  const targets = sample.names.map((_, index) => {
    const column = columnAt(index)
    return column === undefined ? undefined : targetOf(column, formatAt(index).format)
  })
  /** A column of the table into which two of the file lead. */
  const twice = chosen.find((name, index) => name !== undefined && chosen.indexOf(name) !== index)
  /** Columns of the file whose format has to be chosen. */
  const unsure = sample.names.filter((_, index) => {
    const { possible, format } = formatAt(index)
    return possible.length > 1 && format === undefined
  })
  return {
    chosen,
    formatAt,
    targets,
    twice,
    unsure,
    isReady: twice === undefined && unsure.length === 0 && targets.some((target) => target !== undefined),
    choose: (index: number, name: string) =>
      setChosen(chosen.map((before, at) => (at === index ? name || undefined : before))),
    chooseFormat: (index: number, format: string) => setFormats(new Map(formats).set(index, format)),
  }
}

const NOTHING: Upload = { inserted: 0, rejected: [], read: 0 }

function useImport({ table, file, sample }: FileProps, targets: ColumnMapping['targets']) {
  const [state, setState] = useState<State>({ kind: 'preview' })
  const abort = useRef<AbortController>(null)
  const start = async () => {
    const controller = new AbortController()
    abort.current = controller
    let upload = NOTHING
    const show = (next: Upload) => {
      upload = next
      setState({ kind: 'running', upload })
    }
    show(NOTHING)
    try {
      upload = await uploadFile(file, table.name, sample, targets, controller.signal, show)
      setState({ kind: 'done', upload })
      toast(`Imported ${count(upload.inserted)} rows into ${table.name}`, { kind: 'good' })
    } catch (error) {
      if (controller.signal.aborted) setState({ kind: 'cancelled', upload })
      else setState({ kind: 'failed', upload, error })
    }
  }
  return {
    state,
    start,
    cancel: () => abort.current?.abort(),
    reset: () => setState({ kind: 'preview' }),
  }
}

function ColumnTable({
  table,
  sample,
  mapping: { chosen, formatAt, choose, chooseFormat },
}: {
  readonly table: TableDetail
  readonly sample: CsvSample
  readonly mapping: ColumnMapping
}) {
  const guesses = guessColumns(sample)
  const targets = table.columns.map(({ name, type }) => ({ value: name, title: `${name}: ${type}` }))
  return (
    <Table
      label="Columns of the file"
      rows={sample.names.map((name, index) => ({ name, index }))}
      keyOf={({ index }) => index}
      columns={[
        { title: 'In the file', cell: ({ name }) => name },
        { title: 'Looks like', cell: ({ index }) => <Looks guess={guesses[index]?.guess} /> },
        {
          title: 'Into the column',
          cell: ({ name, index }) => (
            <Select
              label={`Column for ${name}`}
              hideLabel
              value={chosen[index] ?? ''}
              onValue={(value) => choose(index, value)}
              choices={[{ value: '', title: 'Left out' }, ...targets]}
            />
          ),
        },
        {
          title: 'Format',
          cell: ({ name, index }) => {
            const { possible, format } = formatAt(index)
            if (possible.length === 0) return null
            return (
              <Select
                label={`Format of ${name}`}
                hideLabel
                value={format?.name ?? ''}
                onValue={(value) => chooseFormat(index, value)}
                choices={[
                  ...(format === undefined ? [{ value: '', title: 'Choose' }] : []),
                  ...(DATE_FORMATS.includes(possible[0]?.name ?? '') ? DATE_FORMATS : NUMBER_FORMATS),
                ]}
              />
            )
          },
        },
        { title: 'First values', cell: ({ index }) => <Values of={sample.values[index]} />, wide: true },
      ]}
    />
  )
}

/** Whether the first rows fit into the columns. */
function Fit({ sample, misfits }: { readonly sample: CsvSample; readonly misfits: readonly Misfit[] }) {
  const read = count(sample.lines.length)
  if (misfits.length > 0)
    return <Misfits title={`${count(misfits.length)} of the first ${read} rows do not fit`} of={misfits} />
  return (
    <Notice kind="good">
      {sample.isAll ? 'All' : 'The first'} {read} rows fit.
    </Notice>
  )
}

function Outcome({
  table,
  file,
  sample,
  state,
  onCancel,
  onAgain,
}: FileProps & {
  readonly state: Exclude<State, { kind: 'preview' }>
  readonly onCancel: () => void
  readonly onAgain: () => void
}) {
  const { inserted, rejected, read } = state.upload
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
        {count(inserted)} rows inserted, {count(rejected.length)} rejected
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

function Misfits({ title, of }: { readonly title: string; readonly of: readonly Misfit[] }) {
  return (
    <Section title={title} about={of.length > MOST_SHOWN ? `The first ${MOST_SHOWN} are shown.` : undefined}>
      <Table
        label={title}
        rows={of.slice(0, MOST_SHOWN)}
        keyOf={({ line }) => line}
        columns={[
          { title: 'Line', kind: 'number', cell: ({ line }) => line },
          { title: 'Why', cell: ({ reason }) => reason },
          { title: 'Row', cell: ({ raw }) => <code class="import-raw">{raw.slice(0, 200)}</code>, wide: true },
        ]}
      />
    </Section>
  )
}

function Looks({ guess }: { readonly guess: ReturnType<typeof guessColumns>[number]['guess'] | undefined }) {
  if (guess === undefined) return null
  const { type, format, nearly, ambiguous } = guess
  return (
    <>
      <code>{typeName(type)}</code>
      {format !== undefined && <span class="quiet"> {format.name}</span>}
      {nearly !== undefined && (
        <span class="quiet">
          {' '}
          {typeName(nearly.type)} but for {nearly.misfits.length}
        </span>
      )}
      {ambiguous !== undefined && <span class="quiet"> {ambiguous.map(({ name }) => name).join(' or ')}</span>}
    </>
  )
}

function Values({ of = [] }: { readonly of?: readonly string[] | undefined }) {
  return <span class="quiet import-raw">{of.slice(0, 3).join(' · ').slice(0, 120)}</span>
}
