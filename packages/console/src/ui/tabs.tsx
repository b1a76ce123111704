/** Tabs: links to the parts of a page, so that each part has an address. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useScrollEdges } from './scroll-edges.ts'

export interface Tab {
  readonly title: ComponentChildren
  readonly href: string
  readonly current: boolean
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const nav = useRef<HTMLElement>(null)
  const current = tabs.find((tab) => tab.current)?.href
  // Scrolls the current tab into view if there are many on a narrow screen.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  useScrollEdges(nav)
  return (
    <nav ref={nav} class="tabs" aria-label={label}>
      {tabs.map(({ title, href, current: isCurrent }) => (
        <a key={href} href={href} class="tab" aria-current={isCurrent ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  )
}
