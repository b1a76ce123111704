/** The views that a statement uses: their queries take their place, and count as if they were written in the statement. */

import type { TableView, ViewQuery } from '../bound/catalogue-view.ts'
import type { Statement } from '../syntax/ast.ts'
import { measureNesting } from '../syntax/ast-nesting.ts'
import { DEFAULT_LIMITS } from '../syntax/limits.ts'

export class ViewExpansion {
  /** All views, those in views included. */
  readonly views = new Set<TableView>()
  readonly #statement: Statement
  /** The views whose queries are being bound, each used by the one before it. */
  readonly #open: TableView[] = []
  #characters: number
  #nesting: number | undefined
  #joins = 0
  #setOperations = 0

  constructor(statement: Statement, text: string) {
    this.#statement = statement
    this.#characters = text.length
  }

  /** Whether the text that is being bound is that of a view, and not the statement. */
  get isOpen(): boolean {
    return this.#open.length > 0
  }

  /** The names from one use of the view to the next, if it uses itself. */
  findCycle(table: TableView): readonly string[] | undefined {
    const start = this.#open.indexOf(table)
    return start === -1 ? undefined : [...this.#open.slice(start), table].map(({ name }) => name)
  }

  /** The limit that the statement exceeds with the view in it; undefined if there is none. */
  exceededLimit({ text, nesting }: ViewQuery): string | undefined {
    this.#characters += text.length
    if (this.#characters > DEFAULT_LIMITS.statementBytes)
      return `A statement can have at most ${DEFAULT_LIMITS.statementBytes} characters, including the text of each use of a view`
    this.#nesting ??= measureNesting(this.#statement)
    if (this.#nesting + nesting > DEFAULT_LIMITS.nesting)
      return `A statement can nest at most ${DEFAULT_LIMITS.nesting} levels deep, including those of its views`
    return undefined
  }

  /** Binds the query of the view. */
  within<Result>(table: TableView, { nesting }: ViewQuery, bind: () => Result): Result {
    this.views.add(table)
    this.#open.push(table)
    this.#nesting = (this.#nesting ?? 0) + nesting
    try {
      return bind()
    } finally {
      this.#nesting -= nesting
      this.#open.pop()
    }
  }

  /** Whether there are more joins than a statement can have. The parser counts only the joins that are written in it. */
  addJoin(): boolean {
    return ++this.#joins > DEFAULT_LIMITS.joins
  }

  addSetOperation(): boolean {
    return ++this.#setOperations > DEFAULT_LIMITS.setOperations
  }
}
