/** The shapes of users, clients and roles for the description of the interface: those of the declarative file. */
import { DECLARATION } from '../declarative/shape.ts'
import type { JsonSchema } from '../http/openapi.ts'

const { users, clients, roles } = DECLARATION.properties

export const USER_SCHEMA = but(users.items, 'password_hash', { password: { type: 'string' } })
export const CLIENT_SCHEMA = but(clients.items, 'client_secret')
export const ROLE_SCHEMA: JsonSchema = { ...roles.items }

function but(schema: { readonly properties: object }, left: string, others: JsonSchema = {}): JsonSchema {
  const properties = Object.entries(schema.properties).filter(([member]) => member !== left)
  return { ...schema, properties: { ...Object.fromEntries(properties), ...others } }
}
