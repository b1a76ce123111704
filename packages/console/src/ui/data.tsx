/** Small amounts of data: tables, lists of facts, code, keys. Large results belong into the grid. */

import type { ComponentChildren } from 'preact'
import { Button, classes } from './button.tsx'
import { Copy } from './copy.tsx'
import { highlighted } from './highlight.tsx'
import { LOCALE } from './locale.ts'
import { word } from './word.ts'

export interface DataColumn<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** `number` is aligned right; `actions` is narrow, without a visible title. */
  readonly kind?: 'number' | 'actions' | undefined
  /** Left out on a telephone. */
  readonly wide?: boolean
}

/** A column with a button that ends or removes what its row shows. `text` is undefined for a row without one. */
export function dangerColumn<Row>(text: (row: Row) => string | undefined, act: (row: Row) => unknown): DataColumn<Row> {
  const cell = (row: Row) =>
    text(row) !== undefined && (
      <Button size="small" kind="danger" onClick={() => act(row)}>
        {text(row)}
      </Button>
    )
  return { title: 'Actions', kind: 'actions', cell }
}

/** A table with a row for each item. `rowHref` makes the first cell a link. */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
  rowHref,
  isCurrent,
}: {
  readonly label: string
  readonly columns: readonly DataColumn<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string | number
  readonly rowHref?: ((row: Row) => string | undefined) | undefined
  /** Whether the page shows what the link of the row leads to. */
  readonly isCurrent?: (row: Row) => boolean
}) {
  return (
    <section class="table-frame" aria-label={label}>
      <table class="table">
        <thead>
          <tr>
            {columns.map(({ title, kind, wide }) => (
              <th key={title} scope="col" class={classes(kind, wide && 'wide-only')}>
                {kind === 'actions' ? <span class="visually-hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const href = rowHref?.(row)
            return (
              <tr
                key={rowKey(row)}
                class={classes(href !== undefined && 'linked', isCurrent?.(row) === true && 'current')}
              >
                {columns.map(({ title, cell, kind, wide }, index) => (
                  <td key={title} class={classes(kind, wide && 'wide-only')}>
                    {index === 0 && href !== undefined ? (
                      <a href={href} aria-current={isCurrent?.(row) === true ? 'true' : undefined}>
                        {cell(row)}
                      </a>
                    ) : (
                      cell(row)
                    )}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

/** Names with their values. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A part of a page with a title. */
export function Section({
  title,
  about,
  actions,
  children,
}: {
  readonly title: string
  readonly about?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <section class="section">
      <header class="section-header">
        <div>
          <h2>{title}</h2>
          {about !== undefined && <p class="quiet">{about}</p>}
        </div>
        {actions !== undefined && <div class="section-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** Code to read and to copy. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure class="code">
      <figcaption>
        <span>{label}</span>
        <Copy text={text} label={`Copy ${label}`} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{highlighted(text)}</pre>
    </figure>
  )
}

/** Keys on the keyboard: `<Keys of="Mod K" />`. `Mod` is Ctrl, or Cmd on a Mac. */
export function Keys({ of }: { readonly of: string }) {
  return (
    <span class="keys" aria-hidden="true">
      {keyNames(of).map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  )
}

export const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform)

const KEY_NAMES: ReadonlyMap<string, string> = new Map([
  ['Mod', IS_MAC ? '⌘' : word('Ctrl')],
  ['Ctrl', word('Ctrl')],
  ['Shift', word('Shift')],
  ['Space', word('Space')],
])

/** As they are written on the keyboard. */
export function keyNames(keys: string): readonly string[] {
  return keys.split(' ').map((key) => KEY_NAMES.get(key) ?? key)
}

/** The progress of long work. Without `of`, it only shows that work is in progress. */
export function Progress({
  label,
  value,
  of,
}: {
  readonly label: string
  readonly value?: number
  readonly of?: number
}) {
  return <progress class="progress" aria-label={label} value={of === undefined ? undefined : value} max={of} />
}

/** A number with separators. */
export function count(number: number | bigint): string {
  return NUMBER.format(number)
}

const NUMBER = new Intl.NumberFormat(LOCALE)

export function rowCount(rows: number): string {
  return rows === 1 ? '1 row' : `${count(rows)} rows`
}
