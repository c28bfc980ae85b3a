import swaggerUi from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import './docs.css'
import { withCurlExample } from './curl-example.ts'
import { readDescription, requiredMediaType } from './description.ts'
import { hasWords, searchOperations } from './search-operations.ts'

const description = await readDescription()
const mediaType = requiredMediaType(description)
const webhooksText = JSON.stringify(description.webhooks ?? {}).toLowerCase()

const ui = swaggerUi({
  domNode: document.querySelector('#description'),
  spec: description,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  // Nothing is sent to anyone but this server.
  validatorUrl: null,
  plugins: [
    {
      fn: { opsFilter: searchOperations },
      wrapComponents: { responses: withCurlExample(description) },
    },
  ],
  requestInterceptor(request: { headers: Record<string, string> }) {
    if (mediaType) request.headers.Accept = mediaType
    // Whoever is signed in on the dashboard need not enter a token here.
    request.headers['x-godwit-session'] = '1'
    return request
  },
})

const search = document.querySelector<HTMLInputElement>('#search')!
search.addEventListener('input', () => {
  const words = search.value.trim()
  ui.layoutActions.updateFilter(words)
  // Swagger UI always shows what is sent to others.
  document.body.toggleAttribute('data-without-webhooks', !hasWords(webhooksText, words))
})
