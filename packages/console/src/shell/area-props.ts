/** What the page of an area is given: the address below it. */
export interface AreaProps {
  /** `/console/people/42/roles` is `['42', 'roles']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}
