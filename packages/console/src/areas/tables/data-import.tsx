/** The import of a Parquet or Arrow file: the columns that the server finds in it, then all of its rows or none. */
import { type Duplicates, isZone } from 'gatehouse-csv'
import { useState } from 'preact/hooks'
import { GatehouseError } from '../../../../client/src/index.ts'
import { Await, Button, count, ErrorNotice, Notice, Select, Table, TextField, useLoad } from '../../ui/index.ts'
import { type DataFormat, type DataOutcome, insertData, previewData } from './data-file.ts'
import { POLICIES } from './import-outcome.tsx'

interface DataProps {
  readonly table: string
  readonly file: File
  readonly format: DataFormat
}

export function DataImport(props: DataProps) {
  const { table, file, format } = props
  const preview = useLoad(() => previewData(file, format, table), [])
  return (
    <Await of={preview} title="The file cannot be imported">
      {({ columns, rows }) => (
        <div class="import-mapping">
          <Table
            label="Columns of the file"
            rows={columns}
            rowKey={({ name }) => name}
            columns={[
              { title: 'Into the column', cell: ({ name }) => name },
              { title: 'Type', cell: ({ type }) => <code>{type}</code> },
            ]}
          />
          <Notice kind="good">
            {rows === 1 ? `${format.name}: the only row fits.` : `${format.name}: all ${count(rows)} rows fit.`}
          </Notice>
          <Insertion {...props} hasTimes={columns.some(({ type }) => type === 'Timestamp')} />
        </div>
      )}
    </Await>
  )
}

type State =
  | { readonly kind: 'ready' | 'running' }
  | { readonly kind: 'done'; readonly outcome: DataOutcome }
  | { readonly kind: 'failed'; readonly error: unknown }

function Insertion({ table, file, format, hasTimes }: DataProps & { readonly hasTimes: boolean }) {
  const [zone, setZone] = useState('')
  const [duplicates, setDuplicates] = useState<Duplicates>('reject')
  const [state, setState] = useState<State>({ kind: 'ready' })
  const isZoneKnown = zone === '' || isZone(zone)
  const start = async () => {
    setState({ kind: 'running' })
    try {
      setState({ kind: 'done', outcome: await insertData(file, format, table, { duplicates, zone }) })
    } catch (error) {
      setState({ kind: 'failed', error })
    }
  }
  if (state.kind === 'done') return <Inserted {...state.outcome} />
  return (
    <>
      <div class="import-delimiter">
        <Select
          label="A row whose key is taken"
          value={duplicates}
          onValue={(value) => setDuplicates(POLICIES.find((policy) => policy.value === value)?.value ?? 'reject')}
          choices={POLICIES.map((policy) =>
            policy.value === 'reject' ? { ...policy, title: 'Insert nothing' } : policy,
          )}
        />
        {hasTimes && (
          <TextField
            label="Time zone"
            value={zone}
            onValue={setZone}
            placeholder="UTC, or America/New_York"
            error={isZoneKnown ? undefined : 'Unknown time zone'}
          />
        )}
      </div>
      {state.kind === 'failed' && <Failure error={state.error} />}
      <div class="row">
        <Button kind="primary" icon="upload" disabled={!isZoneKnown || state.kind === 'running'} onClick={start}>
          {`Import into ${table}`}
        </Button>
        <span class="quiet">All rows are inserted, or none.</span>
      </div>
    </>
  )
}

/** The server's hint on taken keys is for those who write requests. */
function Failure({ error }: { readonly error: unknown }) {
  if (!(error instanceof GatehouseError) || error.code !== 'Data.UniqueViolation')
    return <ErrorNotice error={error} title="Nothing was imported" />
  return (
    <Notice kind="warning">
      Nothing was imported: the key of a row is in the table, or twice in the file. Choose above what happens to such
      rows.
    </Notice>
  )
}

function Inserted({ inserted, replaced, skipped }: DataOutcome) {
  return (
    <p role="status">
      {inserted === 1 ? '1 row inserted' : `${count(inserted)} rows inserted`}
      {replaced > 0 && `, ${count(replaced)} replaced`}
      {skipped > 0 && `, ${count(skipped)} skipped`}
    </p>
  )
}
