/** Where the values of the parameters of emitted SQL come from, and keys of these: equal sources share a parameter. */
import type { AttributeClaim, ClaimName, IqlType, IqlValue, Literal, Parameter } from 'gatehouse-iql'

export type ParameterSource =
  | { readonly kind: 'literal'; readonly value: IqlValue }
  /** A literal of the statement that differs from run to run. */
  | { readonly kind: 'auto-parameter'; readonly index: number }
  | { readonly kind: 'parameter'; readonly index: number }
  /** A number of rows: a parameter that must be neither NULL nor negative. */
  | { readonly kind: 'row-count'; readonly index: number }
  | { readonly kind: 'claim'; readonly claim: ClaimName | AttributeClaim }
  /** All values of an attribute of the caller, written as one text. */
  | {
      readonly kind: 'claim-set'
      readonly claim: AttributeClaim
      readonly write: (values: readonly IqlValue[]) => string
    }
  /** JSON arrays of texts. */
  | { readonly kind: 'roles' | 'scopes' | 'views' }
  | { readonly kind: 'now' | 'today' }
  /** The items of a long list without parameters, written as one text. */
  | { readonly kind: 'literal-list'; readonly text: string }
  /** The items of a long list, written as one text. */
  | {
      readonly kind: 'list'
      readonly items: readonly (Literal | Parameter)[]
      readonly write: (values: readonly IqlValue[]) => string
    }
  /** A time zone, as its name or as arrays in the text form of PostgreSQL. */
  | { readonly kind: 'zone'; readonly name: Literal | Parameter; readonly part: ZonePart }
  /** The position of a table, as text: what has changed since. */
  | { readonly kind: 'since'; readonly table: string }

export type ZonePart = 'name' | 'transitions' | 'offsets'

/** Equal for equal sources. */
export function sourceKey(source: ParameterSource, type: IqlType): string {
  const typeKey = writeTypeKey(type)
  if (source.kind === 'literal') {
    const { value } = source
    const text =
      value instanceof Uint8Array
        ? Buffer.from(value).toString('hex')
        : typeof value === 'object' && value !== null
          ? `${value.months}:${value.micros}`
          : String(value)
    return `literal ${typeKey} ${typeof value} ${text}`
  }
  if (source.kind === 'parameter' || source.kind === 'row-count' || source.kind === 'auto-parameter')
    return `${source.kind} ${typeKey} ${source.index}`
  if (source.kind === 'literal-list') return `literal-list ${typeKey} ${source.text}`
  if (source.kind === 'list') return `list ${typeKey} ${source.items.map(itemKey).join()}`
  if (source.kind === 'zone') return `zone ${source.part} ${itemKey(source.name)}`
  if (source.kind === 'since') return `since ${source.table}`
  const claim = source.kind === 'claim' || source.kind === 'claim-set' ? source.claim : ''
  return `${source.kind} ${typeKey} ${claim}`
}

export function writeTypeKey(type: IqlType): string {
  return type.kind === 'Decimal' ? `Decimal${type.precision},${type.scale}` : type.kind
}

/** Equal for equal items. */
export function itemKey(item: Literal | Parameter): string {
  if (item.kind === 'parameter') return `:${item.index}`
  return typeof item.value === 'string' ? JSON.stringify(item.value) : String(item.value)
}
