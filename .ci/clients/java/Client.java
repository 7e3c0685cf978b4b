import generated.ApiClient;
import generated.ApiException;
import generated.api.KpisApi;
import generated.api.RisksApi;
import generated.model.CreateKpiCheckin;
import generated.model.CreateKpiCheckins;
import generated.model.CreateRisk;
import generated.model.Error;
import generated.model.KpiCheckinBatch;
import generated.model.Risk;
import generated.model.RiskList;
import generated.model.UpdateRisk;
import java.time.LocalDate;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/** A Java client with code that openapi-generator generated. */
public final class Client {
  private static String once() {
    return "java-" + UUID.randomUUID();
  }

  private static void check(boolean holds, Object otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }

  public static void main(String[] args) throws Exception {
    ApiClient api = new ApiClient();
    api.updateBaseUri(System.getenv("BASE_URL"));
    api.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("API_KEY")));
    RisksApi risks = new RisksApi(api);
    KpisApi kpis = new KpisApi(api);

    // Paging: every risk once, newest first.
    Set<String> ids = new HashSet<>();
    int pages = 0;
    String cursor = null;
    do {
      RiskList page = risks.listRisks(cursor, 7, null, null, null, null, null);
      for (Risk risk : page.getData()) {
        check(ids.add(risk.getId()), "a risk came twice");
        check(risk.getCreatedAt() != null, risk);
      }
      pages++;
      cursor = page.getNextCursor();
      check(page.getHasMore() == (cursor != null), page);
    } while (cursor != null);
    check(pages > 3 && ids.size() > 20, ids.size() + " risks on " + pages + " pages");

    // A create.
    CreateRisk draft = new CreateRisk()
        .title("Drift")
        .description("Decisions drift with the season of the year.")
        .severity(CreateRisk.SeverityEnum.HIGH)
        .likelihood(CreateRisk.LikelihoodEnum.POSSIBLE)
        .ownerName("Model owner")
        .targetDate(LocalDate.of(2027, 6, 30));
    Risk created = risks.createRisk(once(), draft, null).getData();
    check("user_added".equals(created.getSource()) && "Model owner".equals(created.getOwnerName()), created);

    // A PATCH with null.
    Risk changed = risks.updateRisk(created.getId(), new UpdateRisk().ownerName(null).targetDate(null), null, null).getData();
    check(changed.getOwnerName() == null && changed.getTargetDate() == null, changed);
    check(changed.getSeverity() == Risk.SeverityEnum.HIGH, changed);

    // A check-in with a value that float can't represent.
    String code = kpis.listKpis(null, 1, null, null, null, null, null).getData().get(0).getCode();
    CreateKpiCheckin point = new CreateKpiCheckin().keyResultCode(code).value(16777217.25);
    KpiCheckinBatch batch = kpis.createKpiCheckins(once(), new CreateKpiCheckins().checkins(List.of(point)), null).getData();
    check(batch.getAccepted() == 1 && batch.getCheckins().get(0).getValue() == 16777217.25, batch);

    // An error.
    try {
      risks.updateRisk("01990000-0000-7000-8000-000000000000", new UpdateRisk().title("Unknown"), null, null);
      throw new AssertionError("an unknown risk was changed");
    } catch (ApiException refused) {
      check(refused.getCode() == 404, refused);
      Error refusal = ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), Error.class);
      check("not_found".equals(refusal.getError().getCode().getValue()), refusal);
      check(refused.getResponseHeaders().firstValue("X-Request-Id").orElse("").equals(refusal.getError().getRequestId()), refusal);
    }

    System.out.println(ids.size() + " risks on " + pages + " pages, a create, a PATCH with null, a check-in and an error");
  }
}
