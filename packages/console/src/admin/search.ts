/** The text of a search, which the address of the page names too. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { go } from '../shell/router.ts'

/** Milliseconds without a key before a search is sent, so that a burst of keys sends one. */
export const TYPING_MS = 60

export interface SearchText {
  readonly text: string
  readonly setText: (text: string) => void
  /** What to search for; undefined for everything. */
  readonly search: string | undefined
}

/** `searchHref` is the address of a search. Each key replaces the address, without an entry in the history. */
export function useSearchText(query: URLSearchParams, searchHref: (search: string | undefined) => string): SearchText {
  const [text, setText] = useState(query.get('search') ?? '')
  const search = text.trim() === '' ? undefined : text.trim()
  const written = useRef(search)
  useEffect(() => {
    if (written.current === search) return
    written.current = search
    go(searchHref(search), { replace: true })
  }, [search])
  // A link or the history leads to another search. This reads the address itself, since `query` may be older while the user types.
  useEffect(() => {
    const named = new URLSearchParams(location.search).get('search') ?? undefined
    if (named === written.current) return
    written.current = named
    setText(named ?? '')
  }, [query])
  return { text, setText, search }
}
