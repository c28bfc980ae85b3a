import { previewTypeOf } from '../middleware/media-type.ts'
import type { DescribedRoute } from './operation.ts'
import { parameters } from './parameters.ts'

/** The operation as a command to try, with its parameters' examples filled in. */
export function curlOf(route: DescribedRoute, api: string, vendor: string): string {
  const { method, operation, previewed } = route
  const { responses, body, security } = operation
  const [sample] = (body?.examples as unknown[] | undefined) ?? []
  const isPlain = method === 'GET' || sample !== undefined
  return [
    'curl',
    ...(responses[302] ? ['--location --output migration.tar.gz'] : []),
    ...(route.path.endsWith('.tar.gz') ? ['--remote-name'] : []),
    ...(isPlain ? [] : [`--request ${method}`]),
    ...(security?.length === 0 ? [] : ['--header "authorization: bearer $TOKEN"']),
    ...(previewed ? [`--header 'accept: ${previewTypeOf(vendor)}'`] : []),
    ...(sample === undefined ? [] : [`--data '${JSON.stringify(sample)}'`]),
    `'${api}${filled(route)}'`,
  ].join(' \\\n  ')
}

interface Filled {
  name: string
  in: string
  required?: boolean
  example?: unknown
}

function filled({ path, operation }: DescribedRoute): string {
  const all = (operation.parameters ?? []).map((each) =>
    '$ref' in each ? named(each.$ref as string) : (each as unknown as Filled),
  )
  const needed = all.filter(({ required }) => required)
  const query = needed.filter((each) => each.in === 'query')
  const asked = query.map(({ name, example }) => `${name}=${example}`).join('&')
  const address = needed.reduce(
    (text, { name, example }) => text.replace(`{${name}}`, String(example)),
    path,
  )
  return asked ? `${address}?${asked}` : address
}

function named(reference: string): Filled {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return parameters[name as keyof typeof parameters]
}
