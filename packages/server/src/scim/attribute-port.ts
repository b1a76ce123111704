/** What SCIM needs of the attributes that operators declare: those with a SCIM path are read and written under it. */
import type { AttributeValue } from '../store/accounts/user.ts'

export interface ScimAttribute {
  readonly name: string
  readonly type: 'Text' | 'Integer' | 'Boolean' | 'Date'
  readonly many: boolean
  /** Such as `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department`; undefined for one that SCIM does not show. */
  readonly scim: string | undefined
}

export interface AttributePort {
  definitions(): Promise<readonly ScimAttribute[]>
  parse(
    definition: ScimAttribute,
    value: unknown,
  ): { readonly values: readonly AttributeValue[] } | { readonly fault: string }
}
