/** Attributes of callers as row filters see them: the types that filters are bound with, and the values that they compare. */
import { type AttributeView, BOOLEAN, DATE, INTEGER, type IqlType, type IqlValue, readValue, TEXT } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { AttributeValue, AttributeValues } from '../../store/accounts/user.ts'
import { listValues } from '../../store/attributes/attribute-values.ts'
import type { AttributeDefinition, AttributeType } from '../../store/attributes/attributes.ts'

export type AttributeViews = ReadonlyMap<string, AttributeView>

/** Values of attributes in their IQL form, by name. */
export type AttributeInputs = ReadonlyMap<string, readonly IqlValue[]>

/** Where attributes come from. */
export interface AttributeSource {
  /** As they are declared now. */
  definitions(): Promise<readonly AttributeDefinition[]>
  /** The current values of a user, or of a client whose token has no user. Those read a moment ago come without a Promise. */
  currentValues(caller: Caller): AttributeValues | Promise<AttributeValues>
}

export type Caller = Pick<Principal, 'kind' | 'subject' | 'clientId'>

export const NO_ATTRIBUTES: AttributeSource = { definitions: async () => [], currentValues: () => ({}) }

const TYPES: Readonly<Record<AttributeType, IqlType>> = { Text: TEXT, Integer: INTEGER, Boolean: BOOLEAN, Date: DATE }

export function attributeViews(definitions: Iterable<AttributeDefinition>): AttributeViews {
  return new Map(Array.from(definitions, ({ name, type, many }) => [name, { type: TYPES[type], many }]))
}

/** The values of these attributes in their IQL form. */
export function attributeInputs(
  values: AttributeValues,
  names: Iterable<string>,
  attributes: AttributeViews,
): AttributeInputs {
  const inputs = new Map<string, readonly IqlValue[]>()
  for (const name of names) {
    const attribute = attributes.get(name)
    if (attribute !== undefined)
      inputs.set(
        name,
        listValues(values, name).flatMap((value) => toInput(value, attribute.type)),
      )
  }
  return inputs
}

/** None for a value of another type, such as one that was written while the attribute was declared anew: it is as good as missing. */
function toInput(value: AttributeValue, type: IqlType): IqlValue[] {
  switch (type.kind) {
    case 'Integer':
      return Number.isSafeInteger(value) ? [BigInt(value)] : []
    case 'Boolean':
      return typeof value === 'boolean' ? [value] : []
    default: {
      const read = typeof value === 'string' ? readValue(type, value) : undefined
      return read !== undefined && 'value' in read ? [read.value] : []
    }
  }
}
