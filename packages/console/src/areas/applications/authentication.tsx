/** How an application authenticates: by a secret, its own key or the tokens of workloads; and which API it is, to exchange tokens. */
import { useState } from 'preact/hooks'
import { readFaults, type Tagged } from '../../admin/tagged.ts'
import { toast } from '../../shell/toasts.tsx'
import {
  Button,
  ErrorNotice,
  Facts,
  Form,
  IconButton,
  Section,
  Select,
  TextArea,
  TextField,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { type Application, TOKEN_EXCHANGE, type Workload } from './kinds.ts'

interface Props {
  readonly application: Tagged<Application>
  readonly client: Application
}

export function Authentication({ application, client }: Props) {
  const [isEditing, setEditing] = useState(false)
  if (isEditing)
    return <EditAuthentication application={application} client={client} onDone={() => setEditing(false)} />
  const { federated = [], jwks, jwks_uri: uri } = client
  const keys = jwks?.keys.length ?? 0
  return (
    <Section
      title="Authentication"
      about="Without a secret nothing can leak: the application signs with its own key, or presents the token of its platform."
      actions={
        <Button size="small" icon="edit" onClick={() => setEditing(true)}>
          Change authentication
        </Button>
      }
    >
      <Facts
        of={[
          [
            word('Method'),
            client.token_endpoint_auth_method === 'private_key_jwt' ? word('Assertions') : word('Secret'),
          ],
          ...(uri === undefined ? [] : [[word('Keys'), <code>{uri}</code>] as const]),
          ...(keys === 0
            ? []
            : [[word('Keys'), keys === 1 ? word('1 public key') : word(`${keys} public keys`)] as const]),
          ...federated.map(
            ({ issuer, subject }) =>
              [
                word('Workload'),
                <span>
                  <code>{subject}</code> of <code>{issuer}</code>
                </span>,
              ] as const,
          ),
          ...(client.api === undefined ? [] : [['API', <code>{client.api}</code>] as const]),
          ...(client.exchange_scope === undefined
            ? []
            : [['By token exchange', <code>{client.exchange_scope}</code>] as const]),
        ]}
      />
    </Section>
  )
}

const METHODS = [
  { value: 'secret', title: 'A secret' },
  { value: 'keys', title: 'Its own key or a workload (no secret)' },
] as const

const NO_WORKLOAD: Workload = { issuer: '', subject: '' }

function EditAuthentication({ application, client, onDone }: Props & { readonly onDone: () => void }) {
  const [method, setMethod] = useState(client.token_endpoint_auth_method === 'private_key_jwt' ? 'keys' : 'secret')
  const [uri, setUri] = useState(client.jwks_uri ?? '')
  const [keys, setKeys] = useState(client.jwks === undefined ? '' : JSON.stringify(client.jwks, null, 2))
  const [workloads, setWorkloads] = useState<readonly Workload[]>(client.federated ?? [])
  const [api, setApi] = useState(client.api ?? '')
  const [scope, setScope] = useState(client.exchange_scope ?? '')
  const jwks = readKeys(keys)
  const { isBusy, error, submit } = useSubmit(async () => {
    const listed = workloads.filter(({ issuer, subject }) => issuer.trim() !== '' || subject.trim() !== '')
    const grants = (client.grant_types ?? ['authorization_code']).filter((grant) => grant !== TOKEN_EXCHANGE)
    const isOwn = method === 'keys'
    await application.save({
      token_endpoint_auth_method: isOwn ? 'private_key_jwt' : methodWithSecret(client),
      jwks_uri: uri.trim() || null,
      jwks: jwks ?? null,
      federated: listed.length > 0 ? listed : null,
      api: api.trim() || null,
      exchange_scope: (api.trim() !== '' && scope.trim()) || null,
      grant_types: [...grants, ...(api.trim() === '' ? [] : [TOKEN_EXCHANGE])],
    })
    toast('The authentication was changed')
    onDone()
  })
  const faults = readFaults(error)
  const set = (index: number, part: Partial<Workload>) =>
    setWorkloads(workloads.map((was, place) => (place === index ? { ...was, ...part } : was)))
  return (
    <Section title="Authentication" about="Changes take effect at once, for new tokens.">
      <Form error={error} onSubmit={() => jwks !== null && submit()}>
        <Select label="Method" value={method} onValue={setMethod} choices={METHODS} />
        <TextField
          label="Address of its public keys"
          hint="https; a JWK set (jwks_uri), for assertions and signed requests. Fetched again when a key is new, so that the application can replace its keys by itself."
          inputMode="url"
          value={uri}
          onValue={setUri}
          error={faults?.get('jwks_uri')}
        />
        <TextArea
          label="Public keys"
          hint='Instead of an address: a JWK set, such as {"keys": […]}, with public keys only.'
          value={keys}
          onValue={setKeys}
          error={jwks === null ? 'This is not a JWK set' : faults?.get('jwks')}
        />
        <fieldset class="choices">
          <legend>Workloads</legend>
          <p class="hint">
            Kubernetes service accounts and CI jobs authenticate as this application with a token from their issuer,
            whose audience is this server. The subject is compared exactly.
          </p>
          {workloads.map(({ issuer, subject }, index) => (
            <div key={index} class="item-row two">
              <TextField
                label={`Issuer ${index + 1}`}
                value={issuer}
                onValue={(text) => set(index, { issuer: text })}
                error={faults?.get(`federated[${index}].issuer`)}
              />
              <TextField
                label={`Subject ${index + 1}`}
                value={subject}
                onValue={(text) => set(index, { subject: text })}
                error={faults?.get(`federated[${index}].subject`)}
              />
              <IconButton
                icon="minus"
                label={`Remove workload ${index + 1}`}
                onClick={() => setWorkloads(workloads.filter((_, place) => place !== index))}
              />
            </div>
          ))}
          <div>
            <Button size="small" kind="plain" icon="plus" onClick={() => setWorkloads([...workloads, NO_WORKLOAD])}>
              Another workload
            </Button>
          </div>
        </fieldset>
        <TextField
          label="API"
          hint="The resource of the API that this application is: it may exchange the access tokens of its callers. Empty for none."
          value={api}
          onValue={setApi}
          error={faults?.get('api')}
        />
        {api.trim() !== '' && (
          <TextField
            label="Scopes by token exchange"
            hint="Of other APIs and services, separated by spaces."
            value={scope}
            onValue={setScope}
            error={faults?.get('exchange_scope')}
          />
        )}
        {error !== undefined && <ErrorNotice error={error} title="The authentication was not changed" />}
        <div class="row">
          <Button type="submit" kind="primary" busy={isBusy} disabled={jwks === null}>
            Save authentication
          </Button>
          <Button kind="plain" onClick={onDone}>
            Cancel
          </Button>
        </div>
      </Form>
    </Section>
  )
}

/** Basic and post alike, unless the registration says otherwise. */
function methodWithSecret({ token_endpoint_auth_method: method }: Application): string | null {
  return method === undefined || method === 'private_key_jwt' ? null : method
}

/** Undefined for no text, null for something else than a JWK set. */
function readKeys(text: string): object | undefined | null {
  if (text.trim() === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'keys' in value && Array.isArray(value.keys) ? value : null
  } catch {
    return null
  }
}
