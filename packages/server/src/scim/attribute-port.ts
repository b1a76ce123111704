/** What SCIM needs of the attributes that operators declare: those with a SCIM path are read and written under it. */
import type { AttributeDefinition, parseAttributeValues } from '../accounts/scim-reads.ts'

export type ScimAttribute = AttributeDefinition

export interface AttributePort {
  definitions(): Promise<readonly ScimAttribute[]>
  readonly parse: typeof parseAttributeValues
}
