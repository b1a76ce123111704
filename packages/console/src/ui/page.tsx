/** The frame of every page of an area: title, actions, and the content that scrolls. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { server } from '../server.ts'
import { classes } from './button.tsx'

export interface PageProps {
  readonly title: string
  /** The pages above this one, as links before the title. */
  readonly parents?: readonly { readonly title: string; readonly href: string }[]
  /** Next to the title, such as a badge. */
  readonly afterTitle?: ComponentChildren
  /** At the right end of the header: buttons. */
  readonly actions?: ComponentChildren
  /** Below the header, for example `Tabs`. */
  readonly bar?: ComponentChildren
  /** Without margins, and the content itself scrolls: for editors and grids. */
  readonly full?: boolean
  readonly children: ComponentChildren
}

export function Page({ title, parents = [], afterTitle, actions, bar, full = false, children }: PageProps) {
  useTitle(title)
  return (
    <div class="page">
      <header class="page-header">
        <div class="page-title">
          {parents.length > 0 && (
            <span class="page-parents">
              {parents.map((parent) => (
                <a key={parent.href} class="page-parent" href={parent.href}>
                  {parent.title}
                </a>
              ))}
            </span>
          )}
          <h1 tabIndex={-1}>{title}</h1>
          {afterTitle}
        </div>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </header>
      {bar}
      <div class={classes('page-body', full && 'full')}>{children}</div>
    </div>
  )
}

/** The title of the window, for the history and for screen readers. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${server.name}`
  }, [title])
}
