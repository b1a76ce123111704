/** The whole value of a cell, next to the grid: long texts, JSON in lines. Very long ones are cut; copying takes all of it. */
import { useMemo } from 'preact/hooks'
import { Button, Copy, count, IconButton } from '../ui/index.ts'
import { fullText, localTime, utcTime } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import { typeKind } from './compare.ts'

/** More would take long to lay out. */
const MOST = 100_000

export function Details({
  column,
  value,
  onClose,
  onEdit,
}: {
  readonly column: GridColumn
  readonly value: unknown
  readonly onClose: () => void
  readonly onEdit?: (() => void) | undefined
}) {
  const text = useMemo(() => detailText(value, column.type), [value, column.type])
  const isNull = value === null || value === undefined
  return (
    <section
      class="grid-details"
      aria-label={`Value of ${column.name}`}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <header>
        <strong>{column.name}</strong>
        <span class="quiet">{column.type}</span>
        <Copy text={text} label="Copy the value" />
        {onEdit !== undefined && (
          <Button size="small" onClick={onEdit}>
            Edit
          </Button>
        )}
        <IconButton icon="close" label="Close the value" size="small" onClick={onClose} />
      </header>
      {text.length > MOST && (
        <p class="quiet">{`The first ${count(MOST)} of ${count(text.length)} characters; Copy takes all.`}</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0} class={isNull ? 'null' : undefined}>
        {isNull ? 'NULL' : text.length > MOST ? text.slice(0, MOST) : text}
      </pre>
    </section>
  )
}

function detailText(value: unknown, type: string): string {
  if (typeof value === 'string' && typeKind(type) === 'Timestamp') return `${localTime(value)}\n${utcTime(value)}`
  // A Json column can hold a text, which is written with its quotes.
  return typeKind(type) === 'Json' && typeof value === 'string' ? prettyText(value) : fullText(value, true)
}

function prettyText(text: string): string {
  return /^\s*[[{]/.test(text) && text.length < 5_000_000 ? tryPretty(text) : text
}

function tryPretty(text: string): string {
  // Numbers that a double cannot hold would change.
  if (/\d{16}/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
