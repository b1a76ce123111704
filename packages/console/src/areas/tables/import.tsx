/** The import of a file into a table; of CSV: preview, then rows in batches, with progress, and a way to cancel. */
import { signal } from '@preact/signals'
import { type Doubt, type Duplicates, findDoubt, isZone } from 'gatehouse-csv'
import { typeName } from 'gatehouse-iql'
import { useEffect, useRef, useState } from 'preact/hooks'
import { toast } from '../../shell/toasts.tsx'
import { Await, Button, bytes, count, Notice, Section, Select, Table, TextField, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { TableDetail } from './catalogue.ts'
import {
  type CsvSample,
  findFormat,
  findMisfits,
  formatsFor,
  guessColumns,
  knownFormats,
  type Misfit,
  matchColumns,
  sampleFile,
  targetColumn,
} from './csv-file.ts'
import { type Upload, uploadFile } from './csv-upload.ts'
import { detectDataFormat } from './data-file.ts'
import { DataImport } from './data-import.tsx'
import { FileDrop } from './drop.tsx'
import { type FileProps, type ImportState, Misfits, Outcome, POLICIES } from './import-outcome.tsx'

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
        label={`Drop a CSV, Parquet or Arrow file here. Its columns have names of columns of ${table.name}`}
        onFile={(dropped) => {
          waitingFile.value = dropped
        }}
      />
    )
  return <AnyFile key={`${file.name} ${file.lastModified}`} table={table} file={file} />
}

/** CSV, unless the first bytes say otherwise. */
function AnyFile({ table, file }: { readonly table: TableDetail; readonly file: File }) {
  const format = useLoad(() => detectDataFormat(file).then((found) => ({ found })), [])
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
      <Await of={format} title="The file cannot be read">
        {({ found }) =>
          found === undefined ? (
            <Preview table={table} file={file} />
          ) : (
            <DataImport table={table.name} file={file} format={found} />
          )
        }
      </Await>
    </Section>
  )
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
  const [nulls, setNulls] = useState('')
  const sample = useLoad(
    () => sampleFile(file, delimiter === '' ? undefined : delimiter, nullsIn(nulls)),
    [delimiter, nulls],
  )
  return (
    <>
      <div class="import-delimiter">
        <Select label="Delimiter" value={delimiter} onValue={setDelimiter} choices={DELIMITERS} />
        <TextField label="No value" value={nulls} onValue={setNulls} placeholder="n/a, -" />
        {sample.data !== undefined && (
          <span class="quiet">
            {DELIMITERS.find(({ value }) => value === sample.data?.delimiter)?.title}:{' '}
            {sample.data.names.length === 1 ? '1 column' : `${sample.data.names.length} columns`}
          </span>
        )}
      </div>
      <Await of={sample} title="The file cannot be read">
        {(read) => <Mapping key={`${read.delimiter} ${nulls}`} table={table} file={file} sample={read} />}
      </Await>
    </>
  )
}

/** Texts that mean no value, separated by commas. */
function nullsIn(text: string): ReadonlySet<string> {
  return new Set(
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
}

function Mapping(props: FileProps) {
  const { table, sample } = props
  const [zone, setZone] = useState('')
  const [duplicates, setDuplicates] = useState<Duplicates>('reject')
  const isZoneKnown = zone === '' || isZone(zone)
  const mapping = useMapping(table, sample, isZoneKnown ? zone : '')
  const { targets, twice, unsure } = mapping
  const isReady = mapping.isReady && isZoneKnown
  const { state, start, cancel, reset } = useImport(props, targets, duplicates)
  if (state.kind !== 'preview') return <Outcome {...props} state={state} onCancel={cancel} onAgain={reset} />
  return (
    <div class="import-mapping">
      <ColumnTable table={table} sample={sample} mapping={mapping} />
      <Doubts sample={sample} />
      <div class="import-delimiter">
        <Select
          label="A row whose key is taken"
          value={duplicates}
          onValue={(value) => setDuplicates(POLICIES.find((policy) => policy.value === value)?.value ?? 'reject')}
          choices={POLICIES}
        />
        {targets.some((target) => target?.type.kind === 'Timestamp') && (
          <TextField
            label="Time zone"
            value={zone}
            onValue={setZone}
            placeholder="UTC, or America/New_York"
            error={isZoneKnown ? undefined : 'Unknown time zone'}
          />
        )}
      </div>
      {twice !== undefined && <Notice kind="warning">Two columns of the file are mapped to {twice}.</Notice>}
      {unsure.length > 0 && (
        <Notice kind="warning">
          The values of {unsure.join(', ')} can be read in two ways: choose the format of the file.
        </Notice>
      )}
      {isReady && <Fit sample={sample} misfits={findMisfits(sample, targets)} />}
      <div class="row">
        <Button kind="primary" icon="upload" disabled={!isReady} onClick={start}>
          {`Import into ${table.name}`}
        </Button>
        <span class="quiet">Rows that do not fit are skipped and listed; the others are inserted.</span>
      </div>
    </div>
  )
}

type ColumnMapping = ReturnType<typeof useMapping>

/** The column of the table, and the format, that the user has chosen for each column of the file. */
function useMapping(table: TableDetail, sample: CsvSample, zone: string) {
  const [chosen, setChosen] = useState(() => matchColumns(sample, table.columns))
  const [formats, setFormats] = useState<ReadonlyMap<number, string>>(new Map())
  const columnAt = (index: number) => table.columns.find(({ name }) => name === chosen[index])
  const formatAt = (index: number) => {
    const possible = formatsFor(sample, index, columnAt(index)?.type ?? '')
    const only = possible.length === 1 ? possible[0] : undefined
    const chosenName = formats.get(index)
    const known = knownFormats(columnAt(index)?.type ?? '')
    return {
      possible,
      known,
      isChosen: chosenName !== undefined,
      format: chosenName === undefined ? only : findFormat(chosenName),
    }
  }
  const targets = sample.names.map((_, index) => {
    const column = columnAt(index)
    return column === undefined ? undefined : targetColumn(column, formatAt(index).format, zone)
  })
  /** A column of the table into which two of the file lead. */
  const twice = chosen.find((name, index) => name !== undefined && chosen.indexOf(name) !== index)
  /** Columns of the file whose format has to be chosen. */
  const unsure = sample.names.filter((_, index) => {
    const { possible, isChosen } = formatAt(index)
    return possible.length > 1 && !isChosen
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

const NOTHING: Upload = { inserted: 0, replaced: 0, skipped: 0, rejected: [], read: 0 }

function useImport({ table, file, sample }: FileProps, targets: ColumnMapping['targets'], duplicates: Duplicates) {
  const [state, setState] = useState<ImportState>({ kind: 'preview' })
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
      upload = await uploadFile(
        file,
        table.name,
        sample,
        targets,
        { duplicates, nulls: sample.nulls },
        controller.signal,
        show,
      )
      setState({ kind: 'done', upload })
      toast(importedText(upload.inserted, table.name), { kind: 'good' })
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

function importedText(rows: number, table: string): string {
  return word(rows === 1 ? `Imported 1 row into ${table}` : `Imported ${count(rows)} rows into ${table}`)
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
      rowKey={({ index }) => index}
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
            const { possible, known, isChosen, format } = formatAt(index)
            if (known.length === 0) return null
            const isUnsure = possible.length > 1 && !isChosen
            return (
              <Select
                label={`Format of ${name}`}
                hideLabel
                value={format?.name ?? ''}
                onValue={(value) => chooseFormat(index, value)}
                choices={[{ value: '', title: isUnsure ? 'Choose' : 'As it is' }, ...known]}
              />
            )
          },
        },
        { title: 'First values', cell: ({ index }) => <Values of={sample.values[index]} />, wide: true },
      ]}
    />
  )
}

/** Why columns look like Text, with the cells that do not fit. */
function Doubts({ sample }: { readonly sample: CsvSample }) {
  const doubts = guessColumns(sample).flatMap(({ name, guess }, index) => {
    const doubt = findDoubt(guess, sample.values[index] ?? [], sample.valueLines[index] ?? [])
    return doubt === undefined ? [] : [doubtText(name, doubt)]
  })
  if (doubts.length === 0) return null
  return (
    <Notice kind="warning">
      {doubts.map((doubt) => (
        <div key={doubt}>{doubt}</div>
      ))}
    </Notice>
  )
}

function doubtText(name: string, doubt: Doubt): string {
  switch (doubt.kind) {
    case 'numbers':
      return word(`${name} looks like Text: its numbers may be ${doubt.first} or ${doubt.second}`)
    case 'dates':
      return word(`${name} looks like Text: its dates may be ${doubt.first} or ${doubt.second}`)
    case 'misfits': {
      const { type, misfits, values } = doubt
      const cells = doubt.cells.map(({ line, text }) => word(`line ${line} ${JSON.stringify(text)}`)).join(', ')
      const all = misfits > doubt.cells.length ? `${cells}, …` : cells
      return word(`${name} looks like Text, not ${typeName(type)}, because of ${misfits} of ${values} values: ${all}`)
    }
  }
}

/** Whether the first rows fit into the columns. */
function Fit({ sample, misfits }: { readonly sample: CsvSample; readonly misfits: readonly Misfit[] }) {
  const read = count(sample.lines.length)
  if (misfits.length > 0)
    return <Misfits title={`${count(misfits.length)} of the first ${read} rows do not fit`} of={misfits} />
  return (
    <Notice kind="good">
      {sample.isAll
        ? sample.lines.length === 1
          ? 'The only row fits.'
          : `All ${read} rows fit.`
        : `The first ${read} rows fit.`}
    </Notice>
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
      {ambiguous !== undefined && <span class="quiet"> {ambiguous.map(({ name }) => name).join(word(' or '))}</span>}
    </>
  )
}

function Values({ of = [] }: { readonly of?: readonly string[] | undefined }) {
  return <span class="quiet import-raw">{of.slice(0, 3).join(' · ').slice(0, 120)}</span>
}
