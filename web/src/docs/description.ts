/** Of the API's description, the parts that the page adds something to. */
export interface Description {
  /** What is sent to others. */
  webhooks?: object
  paths: Record<string, Record<string, Operation>>
}

interface Operation {
  'x-codeSamples'?: { source: string }[]
  'x-preview'?: { mediaType: string; required: boolean }
}

export async function readDescription(): Promise<Description> {
  const answer = await fetch('./openapi.json')
  if (!answer.ok) throw new Error(`/openapi.json answered ${answer.status}`)
  return (await answer.json()) as Description
}

/** The command that does what the operation does. */
export function curlExample({ paths }: Description, path: string, method: string): string {
  return paths[path]?.[method]?.['x-codeSamples']?.[0]?.source ?? ''
}

/** What a caller must accept, where the server insists on the preview. */
export function requiredMediaType({ paths }: Description): string | undefined {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return operations.find((operation) => operation['x-preview']?.required)?.['x-preview']?.mediaType
}
