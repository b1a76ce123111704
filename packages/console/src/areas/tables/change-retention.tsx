/** The dialog that sets how long the rows of a table are kept, and says first which rows that deletes. */
import { useState } from 'preact/hooks'
import { statement } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import {
  explain,
  Loading,
  Notice,
  rowCount,
  Select,
  Switch,
  TextField,
  Time,
  useDelayed,
  useLoad,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { AlterDialog, type AlterProps } from './alter.tsx'
import type { TableDetail } from './catalogue.ts'
import { alterRetention } from './statements.ts'

/** The row of EXPLAIN ALTER TABLE … SET WITH (retention = …). */
interface Preview {
  readonly cut: string | null
  readonly rows: number | bigint
  readonly oldest: string | null
  /** JSON arrays of names. */
  readonly stay: unknown
  readonly go: unknown
}

const TYPING_MS = 400
/** EXPLAIN counts no further. */
const MOST_COUNTED = 1_000_000

export function ChangeRetention({ table, ...rest }: AlterProps) {
  const before = table.retention ?? null
  const columns = findTimeColumns(table)
  const [isOn, setOn] = useState(before !== null)
  const [time, setTime] = useState(before?.time ?? '')
  const [on, setColumn] = useState(before?.on ?? columns[0] ?? '')
  const wanted = isOn ? { time: time.trim(), on } : null
  const isSame = JSON.stringify(wanted) === JSON.stringify(before)
  const isComplete = wanted === null || (wanted.time !== '' && wanted.on !== '')
  const text = isComplete && !isSame ? alterRetention(table, wanted) : undefined
  const done =
    wanted === null ? word(`${table.name} keeps its rows for ever`) : `Changed the retention of ${table.name}`
  return (
    <AlterDialog {...rest} title={`Retention of ${table.name}`} text={text} done={done} danger={isOn}>
      <Switch label="Delete old rows" checked={isOn} onChecked={setOn} />
      {isOn && columns.length === 0 && (
        <Notice kind="warning">
          No column says how old a row is: it takes a Timestamp or a Date that is NOT NULL, first in the key or an
          index.
        </Notice>
      )}
      {isOn && columns.length > 0 && (
        <>
          <TextField
            label="Rows are kept for"
            placeholder="12 hours"
            hint="From 1 minute to 100 years, such as 12 hours or 2 years."
            value={time}
            onValue={setTime}
            autofocus
          />
          <Select label="How old a row is, says" value={on} onValue={setColumn} choices={columns} />
        </>
      )}
      {wanted !== null && text !== undefined && <Losses text={text} />}
    </AlterDialog>
  )
}

/** Those that EXPLAIN does not refuse for their type. */
function findTimeColumns({ columns }: TableDetail): readonly string[] {
  return columns.filter(({ type, nullable }) => /^(?:Timestamp|Date)$/.test(type) && !nullable).map(({ name }) => name)
}

function Losses({ text }: { readonly text: string }) {
  const settled = useDelayed(text, TYPING_MS)
  const preview = useLoad(
    async (signal) => {
      const { rows } = await gate.query<Preview>(statement(`EXPLAIN ${settled}`), { signal }).result()
      return rows[0]
    },
    [settled],
  )
  // Never what another text would delete.
  if (settled !== text || preview.loading) return <Loading />
  if (preview.error !== undefined) return <Refused error={preview.error} />
  return preview.data === undefined ? null : <Lost {...preview.data} />
}

/** Without the statement, which the user did not write. */
function Refused({ error }: { readonly error: unknown }) {
  const { message, hint } = explain(error)
  return (
    <Notice kind="warning">
      <p>{message}</p>
      {hint !== undefined && <p>{hint}</p>}
    </Notice>
  )
}

function Lost({ cut, rows, oldest, stay, go }: Preview) {
  const [kept, lost, number] = [readNames(stay), readNames(go), Number(rows)]
  if (number === 0) return <Notice kind="good">No row is deleted now.</Notice>
  return (
    <Notice kind="warning">
      <p>
        {number >= MOST_COUNTED ? word('1,000,000 rows or more') : rowCount(number)} will be deleted: those before{' '}
        <Time at={cut} />. The oldest is of <Time at={oldest} />. This cannot be undone.
      </p>
      {kept.length > 0 && <p>Views whose rows stay: {kept.join(', ')}</p>}
      {lost.length > 0 && <p>Views whose rows go, too: {lost.join(', ')}</p>}
    </Notice>
  )
}

function readNames(value: unknown): readonly string[] {
  const list: unknown = typeof value === 'string' ? JSON.parse(value) : value
  return Array.isArray(list) ? list.map(String) : []
}
