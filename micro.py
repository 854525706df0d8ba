import time, numpy as np, warnings
warnings.simplefilter('ignore')
import kwis
from kwis.bandwidth.select import Problem
from kwis.runtime.threads import engine
from kwis.bandwidth.search import Search, scan_grid
from kwis.policy.target import resolve_targets
from kwis.policy.discrete import weigh
import sys
n=sys.argv[1]
log=kwis.read_log(f'/tmp/s19/{n}.parquet',propensity='propensity',context=[f'x{j}' for j in range(10)])
t,=resolve_targets(log,'new0'); s=weigh(log,t,0)
p=Problem.of(s.context,s.categorical,5,'rbf',None,0)
def tm(f,k=3):
    f(); best=[]
    for _ in range(k):
        a,b=time.perf_counter(),time.process_time(); f(); best.append((round(time.perf_counter()-a,3),round(time.process_time()-b,3)))
    return min(best)
with engine():
    plan=p.plan(); w=s.weight/s.weight.std(); w=w-w.mean()
    h=p.typical
    print('n',s.n,'typical',h)
    print('f32 score',tm(lambda: plan.locate.score(w,h)))
    print('f64 score',tm(lambda: plan.finish.score(w,h)))
    g=scan_grid(h)
    print('f32 scan27',tm(lambda: plan.locate.scan(w,g)), 'scan9', tm(lambda: plan.locate.scan(w,g[:9])), 'scan3', tm(lambda: plan.locate.scan(w,g[:3])))
    from kwis.estimators.kernel_wis import KernelWIS
    e=KernelWIS(h,exact=False); sm=e.sampling(s); pts=sm.points
    rows=np.sort(np.random.default_rng(0).permutation(s.n)[:2000]); v=np.ones((2000,2))
    print('from_rows 2000 f32',tm(lambda: pts.from_rows(rows,v,np.float32)))
    print('from_rows 2000 f32 x8',tm(lambda: pts.from_rows(rows,np.ones((2000,8)),np.float32)))
    print('at_rows 2000 f32',tm(lambda: pts.at_rows(rows,np.ones((s.n,2)),np.float32)))
    if s.n<=20000: print('all_pairs f32',tm(lambda: pts.all_pairs(np.ones((s.n,2)),np.float32)),'f64',tm(lambda: pts.all_pairs(np.ones((s.n,2)),np.float64)))
