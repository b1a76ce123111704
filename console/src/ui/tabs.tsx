/** Tabs: links to the parts of a page, so that each part has an address. */
import type { ComponentChildren } from 'preact'

export interface Tab {
  readonly title: ComponentChildren
  readonly href: string
  readonly current: boolean
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ title, href, current }) => (
        <a key={href} href={href} class="tab" aria-current={current ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  )
}
