// A reverse proxy that adds the bearer key, because the conformance suite can't
// send headers. Its address is the service's public address (serve --base-url), so
// it forwards Origin and Host unchanged.
//
//   node proxy.mjs KEY LOG    prints its own URL, and forwards to the address that
//                             `govsvc serve` has printed to LOG
import { readFileSync } from 'node:fs';
import http from 'node:http';

const [key, log] = process.argv.slice(2);

function upstream() {
  const said = readFileSync(log, 'utf8').match(/^listening on (\S+)$/m);
  if (!said) throw new Error('govsvc does not listen yet');
  return new URL(said[1]);
}

const proxy = http.createServer((request, response) => {
  const { hostname, port } = upstream();
  const headers = { ...request.headers, authorization: `Bearer ${key}` };
  const onward = http.request({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', (problem) => response.destroy(problem));
  request.pipe(onward);
});
proxy.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${proxy.address().port}`));
