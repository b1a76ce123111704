/** What the routes and commands of a resource are called, and what they say: for OpenAPI, the help of the command line and the documentation. */

/** One line for each route, for the documentation and OpenAPI. */
export interface ResourceRouteTexts {
  readonly list: string
  readonly show: string
  readonly remove: string
  /** POST, and PATCH; what to do instead of changing the key, unless that is possible. */
  readonly create?: string
  readonly change?: string
  readonly instead?: string
  /** Why one cannot be created whose key another has, if not that it exists already. */
  taken?(key: string): string
  /** PUT, where one is declared or replaced as a whole. */
  readonly replace?: string
  /** Whether the list comes page by page; `things` are its items in a sentence. */
  readonly pages?: {
    readonly things: string
    /** Where a page begins, if not always after a key. */
    readonly after?: string
    /** What a list can be narrowed by, each with its description. The store gets the values. */
    readonly filters?: Readonly<Record<string, string>>
  }
  /** What replies are, where they are not "The attribute." and "The changed attribute." */
  readonly replies?: { readonly [route in 'create' | 'show' | 'change' | 'replace']?: string }
}

export interface CommandText {
  readonly summary: string
  readonly examples: readonly string[]
}

export interface ResourceCommandTexts {
  /** In the usage line: `gatehouse api show RESOURCE`. One for each member of the key. */
  readonly argument: string | readonly string[]
  /** Further arguments of `add`, by the member that each sets. */
  readonly others?: Readonly<Record<string, string>>
  readonly options: Readonly<Record<`--${string}`, MemberOption>>
  /** Of the table that `list` prints. */
  readonly columns: readonly string[]
  /** Options of `list`, by the filter that each sets. */
  readonly filters?: Readonly<Record<`--${string}`, ListOption>>
  readonly list: CommandText
  readonly show?: CommandText
  /** `argument` is the key of one that does not exist yet. */
  readonly add: CommandText & {
    /** Its name, if not `add`. */
    readonly verb?: string
    readonly argument?: string | readonly string[]
    done?(key: string, made: Readonly<Record<string, unknown>>): string
  }
  /** With options of its own, where it does not have those of `add`. */
  readonly set?: CommandText & { readonly options?: Readonly<Record<`--${string}`, MemberOption>> }
  /** Of a kind with the member `disabled`. */
  readonly disable?: CommandText & { confirm?(key: string): string }
  readonly enable?: CommandText
  readonly remove: CommandText & { confirm(key: string): string; done(key: string): string }
}

export interface ListOption {
  readonly filter: string
  readonly value: string
  readonly help: string
}

/** An option of `add` and `set`, or of one of them. */
export interface MemberOption {
  /** The member that it sets, such as `history.time`, if not that of its own name. */
  readonly member?: string
  /** Whether a function reads it, because it sets no single member. */
  readonly isRead?: true
  readonly value?: string
  readonly repeatable?: true
  readonly help: string
  readonly only?: 'add' | 'set'
  /** What `add` sends without the option. */
  readonly default?: string
  /** Whether its values are names of members, which return to their defaults. */
  readonly resets?: true
  /** Whether its values are any members, each as `MEMBER=JSON`. */
  readonly isJson?: true
}
