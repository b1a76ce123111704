/** The algorithms of what the server signs for an application, and of what it signs itself. */
import { Select } from '../../ui/index.ts'
import type { Application, KindInfo } from './kinds.ts'

const MEMBERS = [
  { name: 'access_token_alg', label: 'Access tokens', of: 'all' },
  { name: 'id_token_signed_response_alg', label: 'ID tokens', of: 'redirects' },
  { name: 'authorization_signed_response_alg', label: 'Authorization responses (JARM)', of: 'redirects' },
  { name: 'introspection_signed_response_alg', label: 'Introspection responses', of: 'confidential' },
  { name: 'request_object_signing_alg', label: 'Its request objects', of: 'redirects' },
] as const

type Member = (typeof MEMBERS)[number]['name']
export type Signatures = Readonly<Partial<Record<Member, string | undefined>>>

/** The registered algorithms. */
export function registeredAlgorithms(client: Application): Signatures {
  return Object.fromEntries(
    MEMBERS.flatMap(({ name }) => {
      const alg = client[name]
      return typeof alg === 'string' ? [[name, alg]] : []
    }),
  )
}

/** The members of a patch; null removes one. */
export function signaturesPatch(signatures: Signatures): Readonly<Record<string, string | null>> {
  return Object.fromEntries(MEMBERS.map(({ name }) => [name, signatures[name] ?? null]))
}

const ALGS = ['RS256', 'PS256', 'ES256', 'EdDSA'].map((alg) => ({ value: alg, title: alg }))

interface Props {
  readonly info: KindInfo
  readonly signatures: Signatures
  readonly onSignatures: (signatures: Signatures) => void
}

/** Closed unless something is chosen: most applications need none of it. */
export function SignatureFields({ info, signatures, onSignatures }: Props) {
  const shown = MEMBERS.filter(({ of }) => of === 'all' || info[of])
  return (
    <details class="signatures" open={Object.keys(signatures).length > 0}>
      <summary>Signature algorithms</summary>
      <p class="hint">What the server signs needs keys of the algorithm: see the setting signing_algs.</p>
      {shown.map(({ name, label }) => (
        <Select
          key={name}
          label={label}
          value={signatures[name] ?? ''}
          onValue={(alg) => onSignatures({ ...signatures, [name]: alg === '' ? undefined : alg })}
          choices={[
            { value: '', title: name === 'request_object_signing_alg' ? 'Any that matches its key' : 'Default' },
            ...ALGS,
          ]}
        />
      ))}
    </details>
  )
}
