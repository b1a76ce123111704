/** The boards, saved queries and tables that the user opened last, stored in this browser for both start pages. */
import { useEffect } from 'preact/hooks'
import { user } from '../gate.ts'

export type VisitKind = 'board' | 'query' | 'table'

export interface Visit {
  readonly kind: VisitKind
  readonly title: string
  readonly href: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

const MOST = 12

/** Remembers that the page is open; without an address there is nothing to return to. */
export function useVisit(kind: VisitKind, title: string, href: string | undefined): void {
  useEffect(() => {
    if (href === undefined) return
    const visits = [{ kind, title, href, at: Date.now() }, ...readVisits().filter((visit) => visit.href !== href)]
    try {
      localStorage.setItem(key(), JSON.stringify(visits.slice(0, MOST)))
    } catch {}
  }, [href, title])
}

/** Latest first. */
export function readVisits(): readonly Visit[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key()) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isVisit) : []
  } catch {
    return []
  }
}

function isVisit(value: unknown): value is Visit {
  const { kind, title, href, at } = (value ?? {}) as Partial<Record<keyof Visit, unknown>>
  return (
    (kind === 'board' || kind === 'query' || kind === 'table') &&
    typeof title === 'string' &&
    typeof href === 'string' &&
    href.startsWith('/') &&
    typeof at === 'number'
  )
}

/** As packages/server/src/identity/pages/scripts/recent.js reads it. */
function key(): string {
  return `gatehouse.visits.${user.peek()?.sub}`
}
