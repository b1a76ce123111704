/** Why an account cannot be changed as it was asked. Each caller says it in the codes of its own protocol. */

/** Found by the database, while another change may be made. */
export { UsernameTaken } from '../store/accounts/users.ts'
export { ExternalIdTaken } from '../store/scim/external-ids.ts'

export type AccountFaultCode =
  | 'username-invalid'
  | 'unknown-role'
  | 'unknown-user'
  | 'too-many-members'
  /** A group cannot have the name of another role or group. */
  | 'name-taken'
  /** Other SCIM clients have members in the group of an operator. */
  | 'others-members'
  /** Neither a provider nor a SCIM client changes a user for emergencies. */
  | 'emergency-user'
  /** Nor the name and address of an administrator. */
  | 'administrator'
  | 'last-emergency-user'
  | 'last-way-in'
  | 'user-disabled'
  | 'no-address'

export class AccountFault extends Error {
  override name = 'AccountFault'
  readonly code: AccountFaultCode

  constructor(code: AccountFaultCode, message: string) {
    super(message)
    this.code = code
  }
}
