/** A list of the side panel: a field to search it, and its entries below. */
import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { SearchField } from '../../ui/index.ts'

export function SideList({
  label,
  search,
  children,
}: {
  readonly label: string
  readonly search: Signal<string>
  readonly children: ComponentChildren
}) {
  return (
    <>
      <SearchField
        label={label}
        value={search.value}
        onValue={(value) => {
          search.value = value
        }}
      />
      <div class="query-side-list">{children}</div>
    </>
  )
}

/** Instead of entries: why there are none. */
export function SideNote({ children }: { readonly children: ComponentChildren }) {
  return <div class="query-side-empty">{children}</div>
}
