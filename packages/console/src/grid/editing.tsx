/** Editing in place: a field in the cell. Enter writes, Escape leaves the cell as it was, Ctrl-Backspace is NULL. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { explain } from '../ui/index.ts'
import { fullText } from './cell-text.ts'
import type { GridRow } from './model.ts'

export interface Editing {
  /** Whether the cells of a column can be changed. */
  may(column: number): boolean
  /** Writes what was typed; null is NULL. If it throws, the field stays open and says why. */
  commit(row: GridRow, column: number, text: string | null): Promise<void>
}

export function CellEditor({
  editing,
  row,
  column,
  name,
  type,
  onDone,
}: {
  readonly editing: Editing
  readonly row: GridRow
  readonly column: number
  readonly name: string
  readonly type: string
  readonly onDone: () => void
}) {
  const before = row[column]
  const [text, setText] = useState(() => fullText(before))
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  // Keys can come before what was typed, or written, has been drawn: what they act on is not the state of the last drawing.
  const isWriting = useRef(false)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.select(), [])
  const commit = async (value: string | null) => {
    if (isWriting.current) return
    if (value === null ? before === null : before !== null && value === fullText(before)) return onDone()
    isWriting.current = true
    setBusy(true)
    try {
      await editing.commit(row, column, value)
      onDone()
    } catch (failure) {
      isWriting.current = false
      setError(explain(failure).message)
      setBusy(false)
    }
  }
  return (
    <>
      <input
        ref={input}
        class="grid-editor"
        aria-label={`${name}, ${type}`}
        aria-invalid={error === undefined ? undefined : true}
        placeholder={before === null ? 'NULL' : ''}
        title="Enter writes, Escape cancels, Ctrl-Backspace sets NULL"
        value={text}
        readOnly={isBusy}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setError(undefined)
        }}
        onPointerDown={(event) => event.stopPropagation()}
        onDblClick={(event) => event.stopPropagation()}
        onCopy={(event) => event.stopPropagation()}
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key === 'Escape') onDone()
          else if (event.key === 'Enter' || event.key === 'Tab') void commit(event.currentTarget.value)
          else if (event.key === 'Backspace' && (event.ctrlKey || event.metaKey)) void commit(null)
          else return
          event.preventDefault()
        }}
        onBlur={() => error === undefined && !isWriting.current && onDone()}
      />
      {error !== undefined && (
        <span role="alert" class="grid-fault">
          {error}
        </span>
      )}
    </>
  )
}
